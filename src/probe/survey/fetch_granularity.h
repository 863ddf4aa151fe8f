// Fetch granularity: what a miss brings into a cache, from which loads of a cold pass miss. Pure functions: the survey
// has taken the passes.
//
// What fools it: a prefetcher, or misses that bring two sizes; no candidate agrees with such a pattern, and that is
// said. The first load of each pass is left out: it may carry a cold TLB.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/survey/site.h"

namespace gputopo::probe {

struct FetchGranularity {
  std::uint64_t bytes = 0;
  double agreement = 0;  // part of the loads whose hit or miss is what this granularity predicts
  double runner_up = 0;  // the same for the next best granularity
};

struct FetchGranularityParameters {
  // A third pattern (prefetch, two sizes) agrees less with every candidate. Larger refuses passes with a few outliers.
  double min_agreement = 0.9;
  // A level of which no footprint of the survey has more than this part of its loads farther away was never exceeded.
  // Larger: what only a few loads of the largest footprint miss counts so too.
  double exceeded = 0.05;
  // Its hits end at this quantile of its loads, and a little above, for clocks that drift: by this part, and no less
  // than so many cycles. Larger: hits of a level behind it that no footprint reaches look like its own; smaller: hits
  // under jitter look like misses.
  double spread_quantile = 0.95;
  double margin = 0.03;
  double min_margin_cycles = 2;
};

// `latencies` of loads at 0, stride, 2*stride, ... of an array that was in no cache, each list one cold pass. A load at
// a multiple of the granularity misses (latency >= limit_cycles), every other one hits. Of the powers of two from
// `stride_bytes` to `longest_bytes`, the one that agrees with most loads.
[[nodiscard]] FetchGranularity fetch_granularity_of(std::span<const std::vector<std::uint32_t>> latencies,
                                                    std::uint64_t stride_bytes, double limit_cycles,
                                                    std::uint64_t longest_bytes);

// Raw latencies from this on miss a level, as the footprints of its survey show it. Where none exceeds it, what is
// known of farther ones is from first loads, which come from memory: levels between the two show in no footprint, and
// their hits, of what a miss has brought them, lie between the two as well.
[[nodiscard]] double hit_limit_in_cold_pass(std::span<const stats::Histogram> footprints, const stats::Level& level,
                                            const FetchGranularityParameters& parameters = {});

// The same of cold passes of what misses this cache.
[[nodiscard]] FetchGranularity fetch_granularity_of(const Cache& cache,
                                                    std::span<const std::vector<std::uint32_t>> passes,
                                                    const Parameters& parameters);
[[nodiscard]] bool is_clear(const FetchGranularity& fetch, const FetchGranularityParameters& parameters = {});
// Throws Inconclusive where it is not.
void require_clear(const FetchGranularity& fetch);

// Of a cache, from the cold passes of its survey. Throws Inconclusive.
[[nodiscard]] Fetch find_fetch(const Cache& cache, const Parameters& parameters);
[[nodiscard]] Attribute to_attribute(const Cache& cache, const Fetch& fetch, bool keep_samples);

}  // namespace gputopo::probe
