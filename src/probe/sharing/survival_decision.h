// Whether two share a cache, from how much of what one has loaded survives what the other loads.
#pragma once

#include <cstdint>
#include <span>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct SharingDecisionParameters {
  // What survives untouched and what survives an eviction must be this far apart to decide anything between them. More:
  // fewer caches that fill unevenly are told; less: noise decides.
  double least_contrast = 0.10;
  // How far the number of instances may be from a whole one, as a part of it. More: single warps that noise put on the
  // wrong side are forgiven; less: none are.
  double whole_tolerance = 0.15;
};

// Parts of the loads that still hit, as they are where it is known: without an eviction, and after one through the very
// cache.
struct KnownSurvival {
  double untouched = 0;
  double evicted = 0;
};

// The part below which a cache is shared: half way between the two. Nothing where they cannot be told apart.
[[nodiscard]] Decision<double> survival_limit(const KnownSurvival& known,
                                              const SharingDecisionParameters& parameters = {});

// Whether what left `survived` goes through the same cache.
[[nodiscard]] Decision<bool> decide_sharing(const KnownSurvival& known, double survived,
                                            const SharingDecisionParameters& parameters = {});

struct Instances {
  std::int64_t amount = 0;         // that an SM has
  std::int64_t warps_sharing = 0;  // of the warps that were tried, with the first
};
// `survived`: of what the first warp has loaded, after each warp's eviction; that of the first comes first.
[[nodiscard]] Decision<Instances> decide_amount(double untouched, std::span<const double> survived,
                                                const SharingDecisionParameters& parameters = {});

}  // namespace gputopo::probe
