// The kernel of a stream program. The measured part is one piece of assembly: all loads (or stores) that a thread has
// in flight, then one wait. To the compiler, the values read are used.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "device/hip/gfx_target.h"
#include "device/launch/kernel_layout.h"

namespace gputopo::hip {

// The parameters that determine the code of a stream kernel.
struct StreamShape {
  StreamOp op = StreamOp::kRead;
  Space space = Space::kGlobal;
  std::uint32_t vector_bytes = 16;
  std::uint32_t loads_in_flight = 4;
  friend auto operator<=>(const StreamShape&, const StreamShape&) = default;
};

// Parameters of the kernel "stream", in this order. Blocks go over tiles of threads * vector_bytes * loads_in_flight
// bytes (wavefronts instead of threads in the scalar space).
struct StreamParameters {
  std::uint64_t source = 0;       // of all blocks, or of block 0 if slice_bytes is not 0
  std::uint64_t target = 0;       // of writes
  std::uint64_t records = 0;      // a BlockRecord for each block
  std::uint64_t slice_bytes = 0;  // each block goes over its own slice; 0: all share one array
  std::uint64_t tiles = 0;        // of the array or the slice
  std::uint32_t passes = 0;
  std::uint32_t threads = 0;  // of a block
  std::uint32_t blocks = 0;
  std::uint32_t shift = 0;  // tiles that a block advances with each pass
  std::uint32_t never = launch::kNever;
  std::uint32_t wrap = 0;          // bytes after which offsets in a tile begin again: less than a tile in a small array
  std::uint64_t target_tiles = 0;  // of a copy: tile i is written to tile i modulo this
};

// Bytes that a thread may have in flight at once. Larger values would not fit the registers.
inline constexpr std::uint32_t kMaxBytesInFlight = 128;

// Kernel "stream".
[[nodiscard]] std::string generate_stream_source(const GfxTarget& target, const StreamShape& shape);

}  // namespace gputopo::hip
