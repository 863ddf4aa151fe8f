// How long a launch of a stream took, from what its blocks recorded.
#pragma once

#include <vector>

#include "device/launch/stream_layout.h"
#include "gputopo/program.h"

namespace gputopo::launch {

struct StreamSpan {
  double cycles = 0;   // of the slowest SM: each has its own counter
  double seconds = 0;  // first start to last end over all SMs

  StreamSpan& operator+=(const StreamSpan& other) {
    cycles += other.cycles;
    seconds += other.seconds;
    return *this;
  }
};

// `mhz` tells the time where the clock that SMs share is too coarse for so short a launch.
[[nodiscard]] StreamSpan span_of(const std::vector<BlockRecord>& records, double mhz);

// `span`: of all the passes. A pass may move more than it should, whole tiles; what was asked for takes as long as it
// does at the rate of what was moved.
[[nodiscard]] StreamResult result_of(const StreamLayout& layout, const StreamSpan& span);

}  // namespace gputopo::launch
