// The latency from each SM: what all SMs share is nearer to some of them. What fools it: programs that do not run on
// the requested SM, and a neighbor that evicts lines.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// The minimum and maximum over all SMs, in cycles, for lines that the cache holds. Throws Inconclusive if loads hit a
// nearer cache, NotSupportedError if no array fits this cache and exceeds those, or if programs cannot choose an SM.
[[nodiscard]] Attribute measure_sm_latencies(ProbeRunner& runner, const Cache& cache);

}  // namespace gputopo::probe
