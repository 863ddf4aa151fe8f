// The kernels that run occupancy programs: blocks that stay for a number of cycles and watch the clocks. The values
// that must stay in registers come from volatile loads before that time, and their use needs a clock reading from its
// end. So the compiler can neither load them again nor combine them earlier.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "device/cuda/ptx_target.h"

namespace gputopo::cuda {

// A module with a kernel for each number of registers that threads are to keep (OccupancyParameters).
[[nodiscard]] std::string occupancy_kernel_name(std::uint32_t registers);
[[nodiscard]] std::string generate_occupancy_ptx(const PtxTarget& target, std::span<const std::uint32_t> registers);

}  // namespace gputopo::cuda
