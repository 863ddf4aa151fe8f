// The memory layout and the parameters of a cluster program's launch. Plain numbers, no GPU.
#pragma once

#include <cstdint>

#include "device/cuda/kernel_layout.h"
#include "device/launch/launch_gpu.h"

namespace gputopo::cuda {

// Offsets from the start of the launch's memory: the working set of bulk copies, one record for each block and each
// warp, and the word that counts arrivals.
struct ClusterLayout {
  std::uint32_t blocks = 1;
  std::uint64_t warps = 1;  // of all blocks
  std::uint64_t records = 0;
  std::uint64_t warp_records = 0;
  std::uint64_t arrived = 0;
  std::uint64_t bytes = 0;  // of all parts
};

// Throws UsageError if the program would take too long.
void check_duration(const ClusterProgram& program);
[[nodiscard]] std::uint64_t shared_bytes_of(const ClusterProgram& program);
[[nodiscard]] ClusterLayout lay_out(const ClusterProgram& program, std::uint32_t blocks);
[[nodiscard]] ClusterParameters encode(const ClusterProgram& program, const ClusterLayout& layout,
                                       launch::Address base);

}  // namespace gputopo::cuda
