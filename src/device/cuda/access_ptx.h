// The kernels that run access programs: each lane of every warp follows a chain of its own through the working set.
// The timing depends on these facts:
// - The phases, and the code around the clock readings (ptx_phases.h).
// - Wide loads are volatile, or ptxas might drop the part that nobody reads.
// - Stores are volatile, or ptxas would drop all but the last. So are the loads that read them back, or ptxas would
//   pass the value in a register. An atomic adds what the previous one returned.
#pragma once

#include <string>

#include "device/cuda/ptx_target.h"

namespace gputopo::cuda {

// The module with the kernels that run access programs (AccessParameters; launch::kAccessKernels), and "fill_links".
[[nodiscard]] std::string generate_access_ptx(const PtxTarget& target);

}  // namespace gputopo::cuda
