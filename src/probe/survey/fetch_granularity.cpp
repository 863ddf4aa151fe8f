#include "probe/survey/fetch_granularity.h"

#include <fmt/format.h>

#include <algorithm>

namespace gputopo::probe {
namespace {

// Whether each load missed. The majority of the passes decides, so a neighbor's eviction in one pass does not count.
std::vector<bool> missed_by_most(std::span<const std::vector<std::uint32_t>> latencies, double limit_cycles) {
  std::vector<std::uint32_t> misses;
  for (const auto& pass : latencies) {
    misses.resize(std::max(misses.size(), pass.size()));
    for (std::size_t i = 0; i < pass.size(); ++i) misses[i] += pass[i] >= limit_cycles ? 1 : 0;
  }
  std::vector<bool> missed;
  for (const std::uint32_t count : misses) missed.push_back(2 * count > latencies.size());
  return missed;
}

// Part of the loads whose hit or miss a granularity of `strides` strides predicts. Misses and hits weigh the same,
// however rare one of them is. Empty if only the first load is at a multiple.
std::optional<double> agreement_with(const std::vector<bool>& missed, std::uint64_t strides) {
  double boundary_misses = 0;
  double boundaries = 0;
  double inner_hits = 0;
  double inners = 0;
  for (std::size_t i = 1; i < missed.size(); ++i) {
    if (i % strides == 0) {
      boundaries += 1;
      boundary_misses += missed[i] ? 1 : 0;
    } else {
      inners += 1;
      inner_hits += missed[i] ? 0 : 1;
    }
  }
  if (boundaries == 0) return std::nullopt;
  const double of_boundaries = boundary_misses / boundaries;
  return inners == 0 ? of_boundaries : 0.5 * (of_boundaries + inner_hits / inners);
}

}  // namespace

FetchGranularity fetch_granularity_of(std::span<const std::vector<std::uint32_t>> latencies, std::uint64_t stride_bytes,
                                      double limit_cycles, std::uint64_t longest_bytes) {
  const std::vector<bool> missed = missed_by_most(latencies, limit_cycles);
  FetchGranularity best;
  for (std::uint64_t bytes = stride_bytes; bytes <= longest_bytes; bytes *= 2) {
    const std::optional<double> agreement = agreement_with(missed, bytes / stride_bytes);
    if (!agreement) break;
    if (*agreement > best.agreement) {
      best.runner_up = best.agreement;
      best.agreement = *agreement;
      best.bytes = bytes;
    } else {
      best.runner_up = std::max(best.runner_up, *agreement);
    }
  }
  return best;
}

double hit_limit_in_cold_pass(std::span<const stats::Histogram> footprints, const stats::Level& level,
                              const FetchGranularityParameters& parameters) {
  stats::Histogram hits;
  for (const stats::Histogram& footprint : footprints) {
    if (1 - stats::fraction_below(footprint, level.high_cycles) > parameters.exceeded) return level.high_cycles;
    stats::accumulate(hits, footprint);
  }
  const double nearer = stats::fraction_below(hits, level.low_cycles);
  const double nearer_or_here = stats::fraction_below(hits, level.high_cycles);
  if (nearer_or_here <= nearer) return level.high_cycles;
  const double slowest =
      stats::histogram_quantile(hits, nearer + parameters.spread_quantile * (nearer_or_here - nearer));
  const double limit = slowest + std::max(parameters.min_margin_cycles, parameters.margin * slowest);
  return std::min(limit, level.high_cycles);
}

FetchGranularity fetch_granularity_of(const Cache& cache, std::span<const std::vector<std::uint32_t>> passes,
                                      const Parameters& parameters) {
  // A cold pass lies within few pages. In footprints beyond the reach of a TLB, hits may be as slow as in a pass those
  // of the next level.
  const Survey& survey = *cache.survey;
  std::span<const stats::Histogram> footprints = survey.histograms;
  if (cache.first_level == 0 && survey.translation.free_bytes > 0) {
    const auto beyond = std::ranges::upper_bound(survey.footprints_bytes, survey.translation.free_bytes);
    footprints = footprints.first(static_cast<std::size_t>(beyond - survey.footprints_bytes.begin()));
  }
  // A fetch fills the nearest part of the cache. Hits of far L2, if there is one, may be as slow as near memory.
  const double fetched_limit = hit_limit_in_cold_pass(footprints, survey.levels[cache.first_level]);
  return fetch_granularity_of(passes, cache.site().least_stride_bytes(), fetched_limit, parameters.line_limit_bytes);
}

bool is_clear(const FetchGranularity& fetch, const FetchGranularityParameters& parameters) {
  return fetch.agreement >= parameters.min_agreement;
}

void require_clear(const FetchGranularity& fetch) {
  if (is_clear(fetch)) return;
  throw Inconclusive(fmt::format("the best fetch granularity, {} B, explains only {:.0f}% of the loads of a cold pass",
                                 fetch.bytes, 100 * fetch.agreement));
}

Fetch find_fetch(const Cache& cache, const Parameters& parameters) {
  if (!cache.has_next_level()) throw Inconclusive("no load missed this cache, so no fetch into it was seen");
  const FetchGranularity found = fetch_granularity_of(cache, cache.survey->cold_passes, parameters);
  require_clear(found);
  return {.bytes = found.bytes, .agreement = found.agreement, .conditions = cache.survey->cold_conditions};
}

Attribute to_attribute(const Cache& cache, const Fetch& fetch, bool keep_samples) {
  Attribute attribute = measured_exactly(fetch.conditions, static_cast<std::int64_t>(fetch.bytes), "B", "cold_pass");
  attribute.add_detail("agreement", fetch.agreement);
  if (!keep_samples) return attribute;
  // Points, because a line from each hit to the next miss would look like a comb.
  SampleTable table =
      make_table("cold_pass", Plot::kPoints,
                 {axis("offset_bytes", "offset", "B"), values("raw_latency_cycles", "raw latency", "cycles")});
  table.timer_cycles = cache.survey->timer_cycles;
  const std::vector<std::uint32_t>& latencies = cache.survey->cold_passes.front();
  for (std::size_t i = 0; i < latencies.size(); ++i) {
    table.data[0].push_back(static_cast<double>(i * kMinimumStrideBytes));
    table.data[1].push_back(latencies[i]);
  }
  attribute.samples.push_back(std::move(table));
  return attribute;
}

}  // namespace gputopo::probe
