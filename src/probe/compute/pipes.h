// The execution units of an SM, by the operations that share them.
#pragma once

#include <vector>

#include "probe/bench/lab.h"

namespace gputopo::probe {

// Each unit's name with its operations: "alu: lop3.b32 shl.b32". Throws NotSupportedError if the device runs no such
// programs, or too few of them.
[[nodiscard]] Attribute measure_pipes(Lab& lab);

// All programs that it may run, as far as their compilation depends on them.
[[nodiscard]] std::vector<Program> expected_of_pipes();

}  // namespace gputopo::probe
