// Whether two actors share a cache, from how much of one's lines survives the other's loads.
#pragma once

#include <cstdint>
#include <span>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct SharingDecisionParameters {
  // Least difference between what survives untouched and after an eviction. Larger values decide fewer caches that
  // fill unevenly; smaller values let noise decide.
  double least_contrast = 0.10;
  // Relative deviation of the number of instances from a whole one. Larger values forgive single warps that noise put
  // on the wrong side; smaller values forgive none.
  double whole_tolerance = 0.15;
};

// Reference hit fractions: without an eviction, and after one through the very cache.
struct KnownSurvival {
  double untouched = 0;
  double evicted = 0;
};

// Fraction below which a cache is shared: the midpoint of the two. Nothing if they cannot be told apart.
[[nodiscard]] Decision<double> survival_limit(const KnownSurvival& known,
                                              const SharingDecisionParameters& parameters = {});

// Whether the loads that left `survived` go through the same cache.
[[nodiscard]] Decision<bool> decide_sharing(const KnownSurvival& known, double survived,
                                            const SharingDecisionParameters& parameters = {});

struct Instances {
  std::int64_t amount = 0;         // per SM
  std::int64_t warps_sharing = 0;  // of the warps tried, with the first
};
// `survived`: fraction of the first warp's lines left after each warp's eviction; the first warp's own comes first.
[[nodiscard]] Decision<Instances> decide_amount(double untouched, std::span<const double> survived,
                                                const SharingDecisionParameters& parameters = {});

}  // namespace gputopo::probe
