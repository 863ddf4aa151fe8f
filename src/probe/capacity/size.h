// Capacity of a cache: combines the views that views_decision.h asks for, which also says what fools them.
#pragma once

#include "probe/capacity/sampled_residency.h"
#include "probe/capacity/views_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Throws where no footprint exceeds the cache (require_exceeded()), and Inconclusive if the views do not decide.
// `same`: capacity of this very cache, measured through another space; a smaller sample then suffices to confirm it.
[[nodiscard]] Capacity find_capacity(ProbeRunner& runner, const Cache& cache, const Capacity* same = nullptr);
// Whether both surveys show the same hits at every footprint, as those of one cache do. Two equal caches do so too.
[[nodiscard]] bool look_alike(const Cache& one, const Cache& other);
// Same as find_capacity(), with other parameters, for a cache that is exceeded.
[[nodiscard]] Capacity estimate_capacity(ProbeRunner& runner, const Cache& cache,
                                         const CapacityDecisionParameters& parameters);

[[nodiscard]] Cache with(Cache cache, const Capacity& capacity);

[[nodiscard]] Attribute to_attribute(const Cache& cache, const Capacity& capacity, bool keep_samples);

// Fraction of the loads of each survey footprint that hit in the cache or nearer.
[[nodiscard]] std::vector<FootprintHits> sweep_of(const Cache& cache);

}  // namespace gputopo::probe
