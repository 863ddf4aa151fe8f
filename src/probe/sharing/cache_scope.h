// How many SMs share a cache: SM 0 loads what fits, another SM loads more than fits, then SM 0 looks again. What fools
// it: a neighbor that evicts, which the look without an evictor shows; SMs whose partner is disabled.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_cache_scope(ProbeRunner& runner, const Cache& cache);

}  // namespace gputopo::probe
