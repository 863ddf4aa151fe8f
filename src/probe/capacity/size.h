// The size of a cache: looks at it as views_decision.h asks for, and says what all looks together tell. What fools
// it is said there.
#pragma once

#include "probe/capacity/sampled_residency.h"
#include "probe/capacity/views_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Throws Inconclusive where no footprint exceeds the cache, or the views do not decide. `same`: of this very cache, as
// another space reaches it. Fewer samples are enough to see that the size is the same, which is then told.
[[nodiscard]] Capacity find_capacity(Lab& lab, const Cache& cache, const Capacity* same = nullptr);
// Whether footprints of both surveys hit alike: what a cache looks like through two spaces. It may be two caches.
[[nodiscard]] bool look_alike(const Cache& one, const Cache& other);
// The same with other parameters, of a cache that is exceeded.
[[nodiscard]] Capacity estimate_capacity(Lab& lab, const Cache& cache, const CapacityDecisionParameters& parameters);

// The cache, this known of it too.
[[nodiscard]] Cache with(Cache cache, const Capacity& capacity);

[[nodiscard]] Attribute to_attribute(const Cache& cache, const Capacity& capacity, bool keep_samples);

// The part of the loads of each footprint of the survey that hit in the cache or nearer.
[[nodiscard]] std::vector<FootprintHits> sweep_of(const Cache& cache);

}  // namespace gputopo::probe
