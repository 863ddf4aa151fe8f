// Fetch granularity: what a miss brings into a cache, from which loads of a cold pass miss. Pure functions: the survey
// has taken the passes.
//
// What fools it: a prefetcher, or misses that bring two sizes; no candidate agrees with such a pattern, and that is
// said. The first load of each pass is left out: it may carry a cold TLB.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/site.h"

namespace gputopo::probe {

struct FetchGranularity {
  std::uint64_t bytes = 0;
  double agreement = 0;  // part of the loads whose hit or miss is what this granularity predicts
  double runner_up = 0;  // the same for the next best granularity
};

struct FetchGranularityParameters {
  // A third pattern (prefetch, two sizes) agrees less with every candidate. Larger refuses passes with a few outliers.
  double min_agreement = 0.9;
};

// `latencies` of loads at 0, stride, 2*stride, ... of an array that was in no cache, each list one cold pass. A load at
// a multiple of the granularity misses (latency >= limit_cycles), every other one hits. Of the powers of two from
// `stride_bytes` to `longest_bytes`, the one that agrees with most loads.
[[nodiscard]] FetchGranularity fetch_granularity_of(std::span<const std::vector<std::uint32_t>> latencies,
                                                    std::uint64_t stride_bytes, double limit_cycles,
                                                    std::uint64_t longest_bytes);

// Of a cache, from the cold passes of its survey. Throws Inconclusive.
[[nodiscard]] Fetch find_fetch(const Cache& cache, const Parameters& parameters);
[[nodiscard]] Attribute to_attribute(const Cache& cache, const Fetch& fetch, bool keep_samples);

}  // namespace gputopo::probe
