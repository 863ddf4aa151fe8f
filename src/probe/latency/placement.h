// What a load takes from each SM: what all SMs share lies nearer some than others. Fooled by programs that do not run
// where they are sent, and by a neighbour that evicts what was loaded.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// The least and the most over all SMs, in cycles, of lines that the cache holds. Throws Inconclusive where loads hit
// what is nearer, NotSupportedError where no array fits it and exceeds the caches before it, or programs cannot name
// their SM.
[[nodiscard]] Attribute measure_sm_latencies(Lab& lab, const Cache& cache);

}  // namespace gputopo::probe
