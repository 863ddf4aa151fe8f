// L2 slices: the slice of a line and the position of the SM decide how long a load takes.
#pragma once

#include <cstdint>
#include <vector>

#include "device/sim/machine/machine.h"
#include "gputopo/program.h"

namespace gputopo::sim {

// Returns how many cycles more (or less) than the mean each of the first `kept` loads of a timed step takes on its SM.
[[nodiscard]] std::vector<double> slice_cycles(const MachineSpec& spec, const ChaseProgram& program,
                                               const ChaseStep& step, std::size_t kept);

}  // namespace gputopo::sim
