// Fetch granularity: the bytes that a miss brings into a cache, from the loads of a cold pass that miss. Pure
// functions; the survey has taken the passes.
//
// What fools it: a prefetcher, or misses of two sizes. No candidate agrees with such a pattern, and the method reports
// that. It ignores the first load of each pass, which may miss the TLB.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/survey/site.h"

namespace gputopo::probe {

struct FetchGranularity {
  std::uint64_t bytes = 0;
  double agreement = 0;  // part of the loads whose hit or miss this granularity predicts
  double runner_up = 0;  // agreement of the next best granularity
};

struct FetchGranularityParameters {
  // Least agreement; patterns of prefetchers or of two sizes agree less. Larger values reject a few outliers.
  double min_agreement = 0.9;
  // A level counts as never exceeded if no footprint has more than this part of its loads beyond it. Larger values
  // include levels that only a few loads of the largest footprint miss.
  double exceeded = 0.05;
  // Hits of a level that was never exceeded end at this quantile of its loads, plus a margin for clock drift: `margin`
  // of the latency, at least `min_margin_cycles`. Larger values take hits of a hidden level behind it for its own;
  // smaller values take hits under jitter for misses.
  double spread_quantile = 0.95;
  double margin = 0.03;
  double min_margin_cycles = 2;
};

// `latencies`: cold passes, each a list of loads at 0, stride, 2*stride, ... of an array that was in no cache. A load
// at a multiple of the granularity misses (latency >= limit_cycles), every other load hits. Returns the power of two
// from `stride_bytes` to `longest_bytes` that agrees with most loads.
[[nodiscard]] FetchGranularity fetch_granularity_of(std::span<const std::vector<std::uint32_t>> latencies,
                                                    std::uint64_t stride_bytes, double limit_cycles,
                                                    std::uint64_t longest_bytes);

// Raw latency from which a load misses `level`. If no footprint exceeds the level, the only farther loads are first
// loads from memory. A level between the two shows in no footprint, but cold passes hit what a miss brought into it,
// with latencies in between.
[[nodiscard]] double hit_limit_in_cold_pass(std::span<const stats::Histogram> footprints, const stats::Level& level,
                                            const FetchGranularityParameters& parameters = {});

// The fetch granularity of this cache from cold passes of its space.
[[nodiscard]] FetchGranularity fetch_granularity_of(const Cache& cache,
                                                    std::span<const std::vector<std::uint32_t>> passes,
                                                    const Parameters& parameters);
[[nodiscard]] bool is_clear(const FetchGranularity& fetch, const FetchGranularityParameters& parameters = {});
// Throws Inconclusive if the granularity is not clear.
void require_clear(const FetchGranularity& fetch);

// The fetch granularity from the cold passes of the cache's survey. Throws Inconclusive.
[[nodiscard]] Fetch find_fetch(const Cache& cache, const Parameters& parameters);
[[nodiscard]] Attribute to_attribute(const Cache& cache, const Fetch& fetch, bool keep_samples);

}  // namespace gputopo::probe
