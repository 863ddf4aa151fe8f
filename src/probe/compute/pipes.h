// The execution units of an SM: which operations share one.
#pragma once

#include <vector>

#include "probe/bench/lab.h"

namespace gputopo::probe {

// A name for each unit with its operations: "alu: lop3.b32 shl.b32". Throws NotSupportedError where the device runs no
// such programs.
[[nodiscard]] Attribute measure_pipes(Lab& lab);

// Programs of all that it may run, as far as they are compiled.
[[nodiscard]] std::vector<Program> expected_of_pipes();

}  // namespace gputopo::probe
