#include "device/launch/stream_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "gputopo/error.h"

namespace gputopo::launch {

std::uint64_t target_tiles_of(const StreamProgram& program, std::uint64_t tile_bytes, std::uint64_t tiles) {
  if (program.write_span_bytes == 0) return tiles;
  if (program.write_span_bytes < tile_bytes) {
    throw NotSupportedError(fmt::format("a copy writes {} bytes at a time, but its write_span is only {} bytes",
                                        tile_bytes, program.write_span_bytes));
  }
  return program.write_span_bytes / tile_bytes;
}

std::uint64_t launch_passes_for(double pass_seconds) {
  constexpr double kWantedSeconds = 1.0;
  return static_cast<std::uint64_t>(std::clamp<double>(kWantedSeconds / pass_seconds, 1.0, UINT32_MAX));
}

}  // namespace gputopo::launch
