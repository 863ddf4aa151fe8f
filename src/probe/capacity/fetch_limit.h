// Bytes that L2 fetches on a miss, under each of the limits that a driver can be asked for.
//
// What fools it: whatever fools the fetch granularity (fetch_granularity.h), and a driver that treats the limit as a
// hint: a limit that is ignored shows the same fetches as the next one.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Throws NotSupportedError if no limit can be set. Runs before anything slow.
void require_fetch_limits(ProbeRunner& runner, const Site& site);

// Throws Inconclusive if the fetches under the smallest limit are unclear, NotSupportedError if no limit can be set.
[[nodiscard]] Attribute measure_least_fetch(ProbeRunner& runner, const Cache& cache);

}  // namespace gputopo::probe
