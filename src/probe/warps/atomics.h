// Atomic additions of whole warps: how long one takes, and how many there are per cycle. What fools them: words of L2
// that happen to lie in few of its slices, so that several placements are read.
#pragma once

#include "probe/bench/lab.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_atomic_latency(Lab& lab, Space space);
[[nodiscard]] Attribute measure_atomic_throughput(Lab& lab, Space space);

}  // namespace gputopo::probe
