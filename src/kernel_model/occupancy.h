// Occupancy: blocks and warps of a kernel that fit on an SM at a time, by the CUDA occupancy calculator's rules.
#pragma once

#include <cstdint>
#include <string_view>

namespace gputopo::kernel_model {

struct SmLimits {
  std::uint64_t warp_size = 32;
  std::uint64_t warps = 0;
  std::uint64_t blocks = 0;
  std::uint64_t threads_per_block = 0;
  std::uint64_t registers = 0;
  std::uint64_t register_unit = 1;  // allocation granularity per warp
  std::uint64_t schedulers = 1;     // each has an equal part of the registers
  std::uint64_t shared_bytes = 0;
  std::uint64_t shared_reserved_bytes = 0;  // reserved by the system in each block
  std::uint64_t shared_unit = 1;            // allocation granularity per block
};

struct BlockNeeds {
  std::uint64_t threads = 1;
  std::uint64_t registers_per_thread = 0;  // 0: no limit
  std::uint64_t shared_bytes = 0;          // 0: no limit
};

enum class OccupancyLimit : std::uint8_t { kWarps, kBlocks, kRegisters, kSharedMemory, kThreadsPerBlock };
[[nodiscard]] std::string_view to_string(OccupancyLimit limit);

struct Occupancy {
  std::uint64_t blocks = 0;  // 0: not even one block fits
  std::uint64_t warps_per_block = 0;
  OccupancyLimit limit = OccupancyLimit::kWarps;  // the first limit that applies

  [[nodiscard]] std::uint64_t warps() const { return blocks * warps_per_block; }
};

[[nodiscard]] Occupancy occupancy(const SmLimits& sm, const BlockNeeds& block);

}  // namespace gputopo::kernel_model
