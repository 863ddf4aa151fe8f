// Amount per SM: how many instances of a cache an SM has, from which warps evict each other's data. What fools it:
// warps that are not spread evenly over the instances.
#pragma once

#include "probe/site.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_amount(Lab& lab, const Cache& cache);

}  // namespace gputopo::probe
