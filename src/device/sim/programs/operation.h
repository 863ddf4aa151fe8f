// Chains of operations on the pipes of a simulated SM.
#pragma once

#include "device/sim/machine/machine.h"
#include "device/sim/memory/noise.h"

namespace gputopo::sim {

// The schedulers of an SM share its warps and the lanes of each pipe. A scheduler's warps take the longest of three
// times: what each warp waits for its own results, what the pipes need, and what issuing takes.
[[nodiscard]] OperationResult simulate_operation(const ComputeSpec& compute, const DeviceInfo& info,
                                                 const OperationProgram& program, Noise& noise);

}  // namespace gputopo::sim
