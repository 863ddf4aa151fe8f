// How long a launch of a stream took, from what its blocks recorded.
#pragma once

#include <vector>

#include "device/launch/kernel_layout.h"

namespace gputopo::launch {

struct StreamSpan {
  double cycles = 0;   // of the slowest SM: each has its own counter
  double seconds = 0;  // first start to last end over all SMs
};

// `mhz` tells the time where the clock that SMs share is too coarse for so short a launch.
[[nodiscard]] StreamSpan span_of(const std::vector<BlockRecord>& records, double mhz);

}  // namespace gputopo::launch
