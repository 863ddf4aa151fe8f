// Latency and throughput of atomic additions by whole warps. What fools them: words that happen to lie in few slices
// of L2. Several placements are measured for that reason.
#pragma once

#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_atomic_latency(ProbeRunner& runner, Space space);
[[nodiscard]] Attribute measure_atomic_throughput(ProbeRunner& runner, Space space);

}  // namespace gputopo::probe
