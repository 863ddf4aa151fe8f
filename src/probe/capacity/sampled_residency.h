// How much of a footprint a cache holds after a pass over it, of which a few random elements are timed instead of all.
// The decision is in sampled_residency_decision.h, which says what fools it.
#pragma once

#include "probe/capacity/sampled_residency_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Bytes that hit below `limit_cycles` after a pass over `factor` times `guess_bytes`. Throws Inconclusive where a
// nearer cache holds nearly all that was loaded.
[[nodiscard]] SampledResidency sampled_residency(Lab& lab, const Cache& cache, double limit_cycles, double guess_bytes,
                                                 double factor, std::uint64_t stride_bytes,
                                                 std::uint64_t wanted_samples);

}  // namespace gputopo::probe
