// The kernels that run access programs: all lanes of every warp follow a chain of their own through the working set.
// What the timing depends on:
// - The phases, and what stands around the readings of the clock (ptx_phases.h).
// - Wide loads are volatile, or ptxas might leave out the part that nobody reads.
// - Stores are volatile, or ptxas would leave all but the last of them out; so are the loads that read them back, or it
//   would hand the value over in a register. What an atomic returns is what the next one adds.
#pragma once

#include <string>

#include "device/cuda/ptx_target.h"

namespace gputopo::cuda {

// The module with the kernels that run access programs (AccessParameters; launch::kAccessKernels), and "fill_links".
[[nodiscard]] std::string generate_access_ptx(const PtxTarget& target);

}  // namespace gputopo::cuda
