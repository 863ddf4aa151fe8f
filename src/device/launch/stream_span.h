// The duration of a stream's launch, from the records of its blocks.
#pragma once

#include <vector>

#include "device/launch/stream_layout.h"
#include "gputopo/program.h"

namespace gputopo::launch {

struct StreamSpan {
  double cycles = 0;   // cycles of the slowest SM; each has its own counter
  double seconds = 0;  // from the first start to the last end on all SMs

  StreamSpan& operator+=(const StreamSpan& other) {
    cycles += other.cycles;
    seconds += other.seconds;
    return *this;
  }
};

// `mhz` gives the time if the launch is too short for the clock that SMs share.
[[nodiscard]] StreamSpan span_of(const std::vector<BlockRecord>& records, double mhz);

// `span`: of all passes. They move whole tiles, which may be too much, so the time is scaled to the wanted bytes.
[[nodiscard]] StreamResult result_of(const StreamLayout& layout, const StreamSpan& span);

}  // namespace gputopo::launch
