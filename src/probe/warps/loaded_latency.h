// Latency against warps in flight, of which every one has one load under way. What fools it: a working set that lies in
// few slices of L2, and one of device memory that L2 still holds.
#pragma once

#include "probe/bench/lab.h"

namespace gputopo::probe {

enum class LoadedLevel { kL1, kShared, kL2, kDevice };
[[nodiscard]] Attribute measure_loaded_latency(Lab& lab, LoadedLevel level);

}  // namespace gputopo::probe
