// L2 is made of slices, and which of them a line is in decides, with where the SM is, how long a load takes.
#pragma once

#include <cstdint>
#include <vector>

#include "device/sim/machine/machine.h"
#include "gputopo/program.h"

namespace gputopo::sim {

// Cycles that each of the first `kept` loads of a timed step takes more (or less) than the mean, on the named SM.
[[nodiscard]] std::vector<double> slice_cycles(const MachineSpec& spec, const ChaseProgram& program,
                                               const ChaseStep& step, std::size_t kept);

}  // namespace gputopo::sim
