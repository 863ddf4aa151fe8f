// The kernels that run stream programs. Each shape has its own module, so every offset within a thread's accesses is a
// constant and the inner loop is little more than loads or stores.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "device/cuda/ptx_target.h"
#include "gputopo/program/stream.h"
#include "gputopo/space.h"

namespace gputopo::cuda {

// The parameters that determine the code of a stream kernel.
struct StreamShape {
  StreamOp op = StreamOp::kRead;
  Space space = Space::kGlobal;
  std::uint32_t vector_bytes = 16;
  std::uint32_t loads_in_flight = 4;
  std::uint32_t threads_per_block = 1024;
  // Bytes that each block streams over by itself, again and again; 0: all blocks share one array.
  std::uint64_t slice_bytes = 0;
  auto operator<=>(const StreamShape&) const = default;
};

// Accesses of one thread in the unrolled body of the shared-array kernel, and the bytes that a block moves with them.
[[nodiscard]] std::uint32_t stream_body_accesses(const StreamShape& shape);
[[nodiscard]] std::uint64_t stream_tile_bytes(const StreamShape& shape);

// Passes over the slice in the body of the per-block kernel: enough for loads_in_flight accesses of each thread.
[[nodiscard]] std::uint32_t stream_body_passes(const StreamShape& shape);

// Parameters of the kernel "stream", in this order.
struct StreamParameters {
  std::uint64_t source = 0;        // address of the array read (or written)
  std::uint64_t target_delta = 0;  // copy: address of the array written minus source
  std::uint64_t records = 0;       // one BlockRecord a block
  std::uint64_t texture = 0;
  std::uint64_t zero = 0;   // 0: added where the compiler must not see that an address stays the same
  std::uint32_t never = 0;  // kNever
  // Per block: repetitions of the body's passes, and single passes after them. Shared array: `rounds` counts passes
  // over the rest after the tiles.
  std::uint32_t rounds = 0;
  std::uint32_t singles = 0;
  // Shared array only: a block visits tile (first + k * step) mod tiles. After each round, all move on by `shift`.
  std::uint32_t tiles = 0;
  std::uint32_t visits = 0;  // of all blocks together
  std::uint32_t step = 0;    // grid mod tiles
  std::uint32_t shift = 0;
  std::uint32_t step_shift = 0;    // shift of the whole rounds in one step: shift * (grid / tiles) mod tiles
  std::uint32_t rest_vectors = 0;  // vectors in no tile
  std::uint32_t target_tiles = 0;  // copy: tile i is written to tile i mod target_tiles
};

// The module with the kernel "stream" for a shape (and "constant_bank").
[[nodiscard]] std::string generate_stream_ptx(const PtxTarget& target, const StreamShape& shape);

}  // namespace gputopo::cuda
