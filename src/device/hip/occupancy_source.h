// Kernels that load nothing: blocks that stay on their CU and watch the clocks, with a given number of vector registers
// for each thread, and the empty kernel.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

// Blocks that stay (OccupancyParameters): a kernel for each number of vector registers of a thread. 0: as needed.
[[nodiscard]] std::string generate_occupancy_source(const GfxTarget& target, std::span<const std::uint32_t> registers);
[[nodiscard]] std::string occupancy_kernel_name(std::uint32_t registers);
// The smallest number allowed. The kernel itself needs fewer registers.
inline constexpr std::uint32_t kLeastVectorRegisters = 48;
// Kernel "empty", with `argument_bytes` of arguments in one.
[[nodiscard]] std::string generate_empty_source(const GfxTarget& target, std::uint32_t argument_bytes);

}  // namespace gputopo::hip
