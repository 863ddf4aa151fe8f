// What L2 fetches for a miss under the limits that a driver can be asked for.
//
// What fools it: what fools the fetch granularity (fetch_granularity.h), and a driver that takes the limit for a hint:
// a limit that nothing follows shows the same fetches as the one beside it.
#pragma once

#include "probe/bench/lab.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Throws NotSupportedError where no limit can be set, before anything takes long.
void require_fetch_limits(Lab& lab, const Site& site);

// Throws Inconclusive where the fetches under the smallest limit do not show, NotSupportedError where there is none.
[[nodiscard]] Attribute measure_least_fetch(Lab& lab, const Cache& cache);

}  // namespace gputopo::probe
