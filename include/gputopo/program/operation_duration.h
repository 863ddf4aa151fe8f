// How long a launch of an operation program may last.
#pragma once

#include "gputopo/program/operation.h"

namespace gputopo {

// A launch of an operation program may be expected to last so many cycles; longer ones are refused.
inline constexpr double kMaxOperationCycles = 1e9;

// Cycles that no GPU known takes longer than, with a round before that warms the caches.
[[nodiscard]] double most_cycles(const OperationProgram& program);

}  // namespace gputopo
