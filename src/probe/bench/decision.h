// The result of a method's pure part, which turns numbers into a value without a device.
#pragma once

#include <optional>
#include <string>

namespace gputopo::probe {

template <typename Value>
struct Decision {
  std::optional<Value> value;  // empty if the samples do not decide
  std::string basis;           // the figures behind the decision, in words, for the log
  std::string why_not;         // the reason if there is no value
};

}  // namespace gputopo::probe
