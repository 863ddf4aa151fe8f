// Chains of operations on the pipes of a simulated SM.
#pragma once

#include "device/sim/machine/machine.h"
#include "device/sim/memory/noise.h"

namespace gputopo::sim {

// Warps are divided among the schedulers of an SM, and so are the lanes of each pipe. A scheduler's warps take as long
// as the longest of what each warp waits for its own results, what its pipes need and what it takes to issue.
[[nodiscard]] OperationResult simulate_operation(const ComputeSpec& compute, const DeviceInfo& info,
                                                 const OperationProgram& program, Noise& noise);

}  // namespace gputopo::sim
