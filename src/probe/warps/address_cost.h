// The cost of a warp load whose lanes request different constants: each address is served separately.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// For a cache that holds as many constants as a warp has lanes.
[[nodiscard]] Attribute measure_address_cost(ProbeRunner& runner, const Cache& cache);

}  // namespace gputopo::probe
