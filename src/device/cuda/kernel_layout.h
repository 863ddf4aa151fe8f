// The structs that the CUDA kernels share with those of all vendors (launch/kernel_layout.h), and the spaces they know.
#pragma once

#include "device/launch/kernel_layout.h"

namespace gputopo::cuda {

using namespace launch;

// The spaces of NVIDIA GPUs. They have no scalar path that programs can name.
inline constexpr Space kCudaSpaces[] = {Space::kGlobal,   Space::kGlobalBypassL1, Space::kReadOnly, Space::kTexture,
                                        Space::kConstant, Space::kShared,         Space::kLocal};

// Parameters of the kernels that run cluster programs, in this order.
struct ClusterParameters {
  std::uint64_t working_set = 0;   // bulk copies: address in device memory
  std::uint64_t bytes = 0;         // of the working set
  std::uint64_t share_bytes = 0;   // bulk copies: distance between the starts of two blocks
  std::uint64_t records = 0;       // one BlockRecord a block
  std::uint64_t warp_records = 0;  // one WarpRecord a warp
  std::uint64_t arrived = 0;       // address of a word that counts the blocks' arrivals at common starts
  std::uint32_t hop = 0;           // ranks
  std::uint32_t reader = 0;        // rank
  std::uint32_t copy_bytes = 0;
  std::uint32_t in_flight = 0;    // bulk copies
  std::uint32_t warm_rounds = 0;  // of kClusterUnroll loads, or of one copy
  std::uint32_t rounds = 0;
  std::uint32_t never = 0;                // kNever
  std::uint32_t longest_wait_cycles = 0;  // for the other blocks
};

// The barriers of bulk copies lie in front of the copied data.
inline constexpr std::uint32_t kBulkBarrierBytes = 256;
static_assert(kMaxCopiesInFlight * sizeof(std::uint64_t) <= kBulkBarrierBytes);

}  // namespace gputopo::cuda
