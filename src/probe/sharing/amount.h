// Amount per SM: instances of a cache in an SM, from which warps evict each other's data. What fools it: warps that
// are not spread evenly over the instances.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// `has_one`: an SM is known to have one such cache. A few warps then suffice if they agree; otherwise all are tried.
[[nodiscard]] Attribute measure_amount(ProbeRunner& runner, const Cache& cache, bool has_one);

}  // namespace gputopo::probe
