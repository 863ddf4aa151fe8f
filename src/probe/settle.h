// From a decision to what follows from it: the observing part of a method tells what was decided, or ends.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "probe/decision.h"
#include "probe/lab.h"

namespace gputopo::probe {

// The value; logs what it rests on. Throws Inconclusive where there is none.
template <typename Value>
[[nodiscard]] Value settle(const Lab& lab, std::string_view method, Decision<Value> decision) {
  if (!decision.basis.empty()) lab.log(std::string(method) + ": " + decision.basis);
  if (!decision.value) throw Inconclusive(decision.why_not);
  return std::move(*decision.value);
}

}  // namespace gputopo::probe
