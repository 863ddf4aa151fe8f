// Where the parts of a cluster program's launch go, and its parameters. Numbers only, no GPU.
#pragma once

#include <cstdint>

#include "device/cuda/kernel_layout.h"
#include "device/launch/launch_gpu.h"

namespace gputopo::cuda {

// From where the launch's memory begins: the working set of bulk copies, a record of each block and of each warp, and
// the word that counts who has come.
struct ClusterLayout {
  std::uint32_t blocks = 1;
  std::uint64_t warps = 1;  // of all blocks
  std::uint64_t records = 0;
  std::uint64_t warp_records = 0;
  std::uint64_t arrived = 0;
  std::uint64_t bytes = 0;  // of all
};

// Throws UsageError for a program that would take too long.
void check_duration(const ClusterProgram& program);
// Shared memory that a block needs.
[[nodiscard]] std::uint64_t shared_bytes_of(const ClusterProgram& program);
[[nodiscard]] ClusterLayout lay_out(const ClusterProgram& program, std::uint32_t blocks);
[[nodiscard]] ClusterParameters encode(const ClusterProgram& program, const ClusterLayout& layout,
                                       launch::Address base);

}  // namespace gputopo::cuda
