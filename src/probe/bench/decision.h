// What the pure part of a method says of samples: numbers in, a value out, without a device.
#pragma once

#include <optional>
#include <string>

namespace gputopo::probe {

template <typename Value>
struct Decision {
  std::optional<Value> value;  // nothing where the samples do not decide
  std::string basis;           // the figures that it rests on, in words, for the log
  std::string why_not;         // where there is no value
};

}  // namespace gputopo::probe
