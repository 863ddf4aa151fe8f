// Amount per SM: how many instances of a cache an SM has, from which warps evict each other's data. What fools it:
// warps that are not spread evenly over the instances.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// `has_one`: it is known as a cache of which an SM has one. Then a few warps tell where they say the same, else all do.
[[nodiscard]] Attribute measure_amount(Lab& lab, const Cache& cache, bool has_one);

}  // namespace gputopo::probe
