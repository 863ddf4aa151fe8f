// Kernels that load nothing: blocks that stay on their CU and watch the clocks, whose threads are given a number of
// vector registers, and one that does nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

// Blocks that stay (OccupancyParameters), a kernel for each of these numbers of vector registers that a thread is
// given; 0: those it needs.
[[nodiscard]] std::string generate_occupancy_source(const GfxTarget& target, std::span<const std::uint32_t> registers);
[[nodiscard]] std::string occupancy_kernel_name(std::uint32_t registers);
// The smallest of these numbers: the kernel itself needs fewer registers.
inline constexpr std::uint32_t kLeastVectorRegisters = 48;
// Kernel "empty", with so many bytes of arguments in one.
[[nodiscard]] std::string generate_empty_source(const GfxTarget& target, std::uint32_t argument_bytes);

}  // namespace gputopo::hip
