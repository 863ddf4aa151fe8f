// What launches of a stream need of memory and move, whatever the vendor. Numbers only, no GPU.
#pragma once

#include <cstdint>

#include "device/launch/kernel_layout.h"
#include "gputopo/program.h"

namespace gputopo::launch {

// Arrays begin at large pages.
inline constexpr std::uint64_t kStreamPageBytes = 2ull << 20;

// From where a launch's memory begins: the arrays, then a record of each block.
struct StreamLayout {
  std::uint32_t blocks = 1;
  std::uint64_t arrays = 1;         // a copy reads one and writes another
  std::uint64_t footprint = 0;      // what a pass goes over of an array
  std::uint64_t array_bytes = 0;    // what an array takes of device memory; 0 on the chip
  std::uint64_t pass_bytes = 0;     // that all blocks together move in a pass
  std::uint64_t wanted_bytes = 0;   // that the program is to move
  std::uint64_t passes = 1;         // that move about as many
  std::uint64_t warm_passes = 1;    // that go before, untimed
  std::uint64_t launch_passes = 0;  // of one launch at most; 0: as many as the untimed ones say there is time for

  [[nodiscard]] std::uint64_t records() const { return arrays * array_bytes; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return records() + blocks * sizeof(BlockRecord); }
};

[[nodiscard]] inline std::uint64_t arrays_of(const StreamProgram& program) {
  return program.op == StreamOp::kCopy ? 2 : 1;
}

// To how many tiles a copy of `tiles` of them writes: tile i to tile i modulo that. Throws NotSupportedError where the
// program's write_span_bytes are less than a tile.
[[nodiscard]] std::uint64_t target_tiles_of(const StreamProgram& program, std::uint64_t tile_bytes,
                                            std::uint64_t tiles);

// How many passes that take so long keep a launch well under the two seconds that one may last; at least one.
[[nodiscard]] std::uint64_t launch_passes_for(double pass_seconds);

}  // namespace gputopo::launch
