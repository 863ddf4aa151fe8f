// Latency over warps in flight, each with one outstanding load. What fools it: a working set in few slices of L2, and
// a working set in device memory that L2 still holds.
#pragma once

#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

enum class LoadedLevel { kL1, kShared, kL2, kDevice };
[[nodiscard]] Attribute measure_loaded_latency(ProbeRunner& runner, LoadedLevel level);

}  // namespace gputopo::probe
