// The kernels that run occupancy programs: blocks that stay for so many cycles, and watch the clocks. Values that are
// to stay in registers come from memory by volatile loads before, and what is done with them after needs a reading of
// the clock from the end: the compiler can neither load them again nor put them together sooner.
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
