// Turns a decision into its value, or ends the method if there is none.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "probe/bench/decision.h"
#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

// Throws Inconclusive if there is no value.
template <typename Value>
[[nodiscard]] Value value_of(Decision<Value> decision) {
  if (!decision.value) throw Inconclusive(decision.why_not);
  return std::move(*decision.value);
}

// The same, and logs the basis of the decision.
template <typename Value>
[[nodiscard]] Value value_or_throw(const ProbeRunner& runner, std::string_view method, Decision<Value> decision) {
  if (!decision.basis.empty()) runner.log(std::string(method) + ": " + decision.basis);
  return value_of(std::move(decision));
}

}  // namespace gputopo::probe
