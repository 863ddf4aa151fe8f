// Accesses by whole warps: banks, atomics, latency under load.
#pragma once

#include <cstdint>
#include <string_view>

#include "gputopo/space.h"

namespace gputopo {

struct AccessResult;

enum class AccessOp : std::uint8_t {
  kLoad,       // the address is the result of the previous load
  kStore,      // back to back; the last one is read back, so that the time includes the arrival of all stores
  kStoreLoad,  // a store and a load of the same word, whose result the next store writes
  kAtomicAdd,  // each adds the result of the previous one (to words that are initially 0)
};
[[nodiscard]] std::string_view to_string(AccessOp op);

// All lanes of many warps access memory at once. Each warp has its own chain. One block of `warps` warps runs, on one
// SM or on each. A warp has warp_size lanes. A lane accesses one word of access_word_bytes() at
//   (lane * lane_stride_bytes + warp * warp_stride_bytes + access * hop_bytes) mod bytes
// from the start of the working set. Warps are numbered across blocks if the blocks share it. Always runs alone.
struct AccessProgram {
  static constexpr std::string_view kKind = "access";
  using Result = AccessResult;

  AccessOp op = AccessOp::kLoad;
  Space space = Space::kShared;  // shared, global, global_bypass_l1 or constant; global and constant: loads only
  std::uint64_t bytes = 0;  // working set: per block in shared memory, else of all blocks; constants: at most 64 KiB
  std::uint32_t lane_stride_bytes = 0;  // 0: all lanes access one word
  std::uint32_t warp_stride_bytes = 0;
  std::uint64_t hop_bytes = 0;      // loads only
  std::uint32_t warps = 1;          // per block
  bool every_sm = false;            // one block on each SM at the same time; otherwise one block
  std::uint32_t warm_accesses = 0;  // untimed accesses per warp before the timed ones, on the same chain
  std::uint32_t accesses = 0;       // timed accesses per warp
  std::uint32_t load_bytes = 0;     // per lane: 4, 8 or 16, for loads from shared memory only; 0: access_word_bytes()
  // Bank mode of shared memory, if the GPU has any: words of 4 or 8 bytes are in successive banks. 0: default.
  std::uint32_t bank_mode_bytes = 0;
  std::uint64_t shared_carve_out_bytes = 0;
  friend bool operator==(const AccessProgram&, const AccessProgram&) = default;
};

inline constexpr std::uint32_t kMaxAccessWarps = 32;
// Both access counts must be multiples of this.
inline constexpr std::uint32_t kAccessUnroll = 16;
// Bytes per access of a lane. Loads from device memory have 8 bytes, because they load addresses; other accesses have
// 4, unless the program says otherwise.
[[nodiscard]] std::uint32_t access_word_bytes(const AccessProgram& program);

struct AccessResult {
  // Cycles of one access of a warp (all lanes), without the timer cost. Each warp's value is the mean of its accesses;
  // these are the lowest, the mean and the highest over the warps of all blocks.
  double least_cycles = 0;
  double mean_cycles = 0;
  double most_cycles = 0;
  double total_cycles = 0;   // from the first start to the last end of an SM's warps; mean over SMs
  std::uint32_t blocks = 1;  // blocks that ran: one per SM
  friend bool operator==(const AccessResult&, const AccessResult&) = default;
};

}  // namespace gputopo
