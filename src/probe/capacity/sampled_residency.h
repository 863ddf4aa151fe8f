// Resident part of a footprint after a pass over it, from timing a few random elements instead of all.
// sampled_residency_decision.h decides, and says what fools it.
#pragma once

#include "probe/capacity/sampled_residency_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Bytes that hit below `limit_cycles` after a pass over `factor` times `guess_bytes`. Throws Inconclusive if a nearer
// cache holds nearly all of what was loaded.
[[nodiscard]] SampledResidency sampled_residency(ProbeRunner& runner, const Cache& cache, double limit_cycles,
                                                 double guess_bytes, double factor, std::uint64_t stride_bytes,
                                                 std::uint64_t wanted_samples);

}  // namespace gputopo::probe
