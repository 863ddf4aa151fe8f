// How long a launch of a stream took, from what its blocks recorded.
#pragma once

#include <vector>

#include "device/launch/kernel_layout.h"
#include "gputopo/program.h"

namespace gputopo::launch {

struct StreamSpan {
  double cycles = 0;   // of the slowest SM: each has its own counter
  double seconds = 0;  // first start to last end over all SMs
};

// `mhz` tells the time where the clock that SMs share is too coarse for so short a launch.
[[nodiscard]] StreamSpan span_of(const std::vector<BlockRecord>& records, double mhz);

// To how many tiles a copy of `tiles` of them writes: tile i to tile i modulo that. Throws NotSupportedError where the
// program's write_span_bytes are less than a tile.
[[nodiscard]] std::uint64_t target_tiles_of(const StreamProgram& program, std::uint64_t tile_bytes,
                                            std::uint64_t tiles);

}  // namespace gputopo::launch
