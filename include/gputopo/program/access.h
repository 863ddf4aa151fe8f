// Accesses of whole warps: banks, atomics, latency under load.
#pragma once

#include <cstdint>
#include <string_view>

#include "gputopo/space.h"

namespace gputopo {

struct AccessResult;

enum class AccessOp : std::uint8_t {
  kLoad,       // each address is what the load before gave
  kStore,      // one after the other; the last is read back, so that the time is that of stores that have arrived
  kStoreLoad,  // a store and a load of the same word, which gives what the next one stores
  kAtomicAdd,  // each adds what the one before gave (to words that begin as zeros)
};
[[nodiscard]] std::string_view to_string(AccessOp op);

// All lanes of many warps at once, every warp with a chain of its own: bank conflicts, atomics, latency under load. One
// block of `warps` warps runs, on one SM or on each; a warp has as many lanes as the device says (warp_size). A lane
// accesses one word of access_word_bytes() at
//   (lane * lane_stride_bytes + warp * warp_stride_bytes + access * hop_bytes) mod bytes
// from the start of the working set, where warps are numbered through all blocks if the blocks share it. Always runs
// alone.
struct AccessProgram {
  static constexpr std::string_view kKind = "access";
  using Result = AccessResult;

  AccessOp op = AccessOp::kLoad;
  Space space = Space::kShared;  // shared, global, global_bypass_l1 or constant; global and constant: loads
  std::uint64_t bytes = 0;  // working set: of each block in shared memory, else of all; of constants at most 64 KiB
  std::uint32_t lane_stride_bytes = 0;  // 0: all lanes access one word
  std::uint32_t warp_stride_bytes = 0;
  std::uint64_t hop_bytes = 0;      // loads only
  std::uint32_t warps = 1;          // of each block
  bool every_sm = false;            // a block on each SM, all at the same time; else one block
  std::uint32_t warm_accesses = 0;  // of each warp before those that are timed, on the same chain
  std::uint32_t accesses = 0;       // of each warp that are timed
  std::uint32_t load_bytes = 0;     // of a lane; 4, 8 or 16, loads from shared memory only; 0: access_word_bytes() says
  // How the banks of shared memory are to be laid out, on GPUs that can be asked: successive words of 4 or 8 bytes in
  // successive banks. 0: as they are when nobody asks.
  std::uint32_t bank_mode_bytes = 0;
  std::uint64_t shared_carve_out_bytes = 0;
  friend bool operator==(const AccessProgram&, const AccessProgram&) = default;
};

inline constexpr std::uint32_t kMaxAccessWarps = 32;
// Both counts of accesses are multiples of this.
inline constexpr std::uint32_t kAccessUnroll = 16;
// Of one lane. Loads from device memory are of 8 bytes, because what they load is an address; others of 4 where the
// program does not say.
[[nodiscard]] std::uint32_t access_word_bytes(const AccessProgram& program);

struct AccessResult {
  // Cycles of one access of a warp (of all its lanes), the timer's own cost taken off: the mean over a warp's accesses;
  // then the least, mean and most over the warps of all blocks.
  double least_cycles = 0;
  double mean_cycles = 0;
  double most_cycles = 0;
  double total_cycles = 0;   // from the first start to the last end of an SM's warps; mean over the SMs
  std::uint32_t blocks = 1;  // that ran: one for each SM
  friend bool operator==(const AccessResult&, const AccessResult&) = default;
};

}  // namespace gputopo
