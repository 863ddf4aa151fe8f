// How many SMs have a cache together: SM 0 loads what fits, another SM more than fits, and SM 0 again. What fools it: a
// neighbour that evicts, which the look without an evictor shows; and SMs whose partner is switched off.
#pragma once

#include "probe/bench/lab.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_cache_scope(Lab& lab, const Cache& cache);

}  // namespace gputopo::probe
