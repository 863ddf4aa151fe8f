// The size of a cache: looks at it as capacity_decision.h asks for, and says what all looks together tell. What fools
// it is said there.
#pragma once

#include "probe/capacity_decision.h"
#include "probe/sampled_residency.h"
#include "probe/site.h"

namespace gputopo::probe {

// Throws Inconclusive where no footprint exceeds the cache, or the views do not decide.
[[nodiscard]] Capacity find_capacity(Lab& lab, const Cache& cache);
// The same with other parameters, of a cache that is exceeded.
[[nodiscard]] Capacity estimate_capacity(Lab& lab, const Cache& cache, const CapacityDecisionParameters& parameters);

[[nodiscard]] Attribute to_attribute(const Cache& cache, const Capacity& capacity, bool keep_samples);

}  // namespace gputopo::probe
