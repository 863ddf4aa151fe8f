// The execution units of an SM, by the operations that share them.
#pragma once

#include <vector>

#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

// Each unit's name with its operations: "alu: lop3.b32 shl.b32". Throws NotSupportedError if the device runs no such
// programs, or too few of them.
[[nodiscard]] Attribute measure_pipes(ProbeRunner& runner);

// All programs that it may run, as far as their compilation depends on them.
[[nodiscard]] std::vector<Program> expected_of_pipes();

}  // namespace gputopo::probe
