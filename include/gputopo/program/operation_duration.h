// The duration limit of a launch of an operation program.
#pragma once

#include "gputopo/program/operation.h"

namespace gputopo {

// The most expected cycles of a launch; longer ones are rejected.
inline constexpr double kMaxOperationCycles = 1e9;

// An upper bound of the cycles on every known GPU, including the warm-up round.
[[nodiscard]] double most_cycles(const OperationProgram& program);

}  // namespace gputopo
