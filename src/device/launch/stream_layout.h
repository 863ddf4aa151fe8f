// The memory that launches of a stream need, and the bytes that they move, for any vendor. Pure numbers, no GPU.
#pragma once

#include <cstdint>

#include "device/launch/kernel_layout.h"
#include "gputopo/program.h"

namespace gputopo::launch {

// Arrays begin at large pages.
inline constexpr std::uint64_t kStreamPageBytes = 2ull << 20;

// Memory of a launch: the arrays, then a record of each block.
struct StreamLayout {
  std::uint32_t blocks = 1;
  std::uint64_t arrays = 1;         // a copy reads one and writes another
  std::uint64_t footprint = 0;      // bytes of an array that a pass covers
  std::uint64_t array_bytes = 0;    // bytes of an array in device memory; 0 on the chip
  std::uint64_t pass_bytes = 0;     // bytes that all blocks together move in a pass
  std::uint64_t wanted_bytes = 0;   // bytes that the program should move
  std::uint64_t passes = 1;         // timed passes, which move about wanted_bytes
  std::uint64_t warm_passes = 1;    // untimed passes before the timed ones
  std::uint64_t launch_passes = 0;  // limit of one launch; 0: as many as the warm passes show there is time for

  [[nodiscard]] std::uint64_t records() const { return arrays * array_bytes; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return records() + blocks * sizeof(BlockRecord); }
};

[[nodiscard]] inline std::uint64_t arrays_of(const StreamProgram& program) {
  return program.op == StreamOp::kCopy ? 2 : 1;
}

// Returns how many tiles a copy of `tiles` tiles writes: tile i goes to tile i modulo that number. Throws
// NotSupportedError if the program's write_span_bytes is less than a tile.
[[nodiscard]] std::uint64_t target_tiles_of(const StreamProgram& program, std::uint64_t tile_bytes,
                                            std::uint64_t tiles);

// Returns how many passes of this duration keep a launch well under its limit of two seconds, but at least one.
[[nodiscard]] std::uint64_t launch_passes_for(double pass_seconds);

}  // namespace gputopo::launch
