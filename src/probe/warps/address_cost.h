// What it costs that lanes of a warp load different constants: each address is served by itself.
#pragma once

#include "probe/bench/lab.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Of a cache of constants, of which as many words as a warp has lanes fit.
[[nodiscard]] Attribute measure_address_cost(Lab& lab, const Cache& cache);

}  // namespace gputopo::probe
