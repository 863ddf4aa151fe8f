// From a decision to what follows from it: the observing part of a method tells what was decided, or ends.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "probe/bench/decision.h"
#include "probe/bench/lab.h"

namespace gputopo::probe {

// Throws Inconclusive where there is none.
template <typename Value>
[[nodiscard]] Value value_of(Decision<Value> decision) {
  if (!decision.value) throw Inconclusive(decision.why_not);
  return std::move(*decision.value);
}

// The same; logs what it rests on.
template <typename Value>
[[nodiscard]] Value settle(const Lab& lab, std::string_view method, Decision<Value> decision) {
  if (!decision.basis.empty()) lab.log(std::string(method) + ": " + decision.basis);
  return value_of(std::move(decision));
}

}  // namespace gputopo::probe
