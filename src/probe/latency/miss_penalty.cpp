#include "probe/latency/miss_penalty.h"

#include <fmt/format.h>

#include "probe/bench/intervals.h"
#include "probe/latency/level_decision.h"
#include "probe/survey/band_latency.h"

namespace gputopo::probe {
namespace {

// Footprint in sizes of what fits: with any replacement policy almost nothing hits here, and the next level holds it.
constexpr std::uint64_t kWalkedCapacities = 4;
// Least part of the loads that miss. Less is noise, if the space allows no array that clearly exceeds the cache.
constexpr double kLeastMissed = 0.05;

// Hit latency of the cache: that of its farthest level, over all footprints of the survey.
HitLatency hit_latency(const Cache& cache) {
  const Survey& survey = *cache.survey;
  if (cache.last_level == 0) {
    const stats::Interval copies = stats::mean_interval(survey.tiny_latencies_cycles);
    return {stats::median(survey.tiny_latencies_cycles), (copies.high - copies.low) / 2};
  }
  stats::Histogram sum;
  for (const stats::Histogram& histogram : survey.histograms) stats::accumulate(sum, histogram);
  const auto mean =
      timed_mean(sum, survey.levels[cache.last_level].low_cycles, cache.hit_limit_cycles(), survey.timer_cycles);
  if (!mean) throw Inconclusive("too few loads hit this level to measure their latency");
  return {.cycles = *mean};
}

}  // namespace

Attribute measure_miss_penalty(ProbeRunner& runner, const Cache& cache) {
  require_exceeded(cache, "so no load misses it");
  const Survey& survey = *cache.survey;
  const stats::Level& next = survey.levels[cache.last_level + 1];
  const auto held = std::max(cache.fits_bytes, static_cast<std::uint64_t>(cache.resident_bytes));
  const std::uint64_t bytes = cache.site().clamp(kWalkedCapacities * held);
  const ChaseArray array = make_array(cache.site(), bytes, cache.line_or_fetch_bytes());
  const BandLatencies misses = band_latencies(runner, survey, array, next.low_cycles, next.high_cycles);
  const double missed = part_between(misses.histogram, next.low_cycles, next.high_cycles);
  if (missed < kLeastMissed) {
    throw Inconclusive(
        fmt::format("only {:.1f}% of the loads miss this cache, even with the largest possible array", 100 * missed));
  }
  const MeanLatency penalty = miss_penalty(misses.means_cycles, hit_latency(cache));
  Conditions conditions = runner.conditions();
  conditions.add(cache.last_level == 0 ? survey.tiny_conditions : survey.conditions);
  return measured(conditions, rounded_to_tenth(penalty.cycles), "cycles", penalty.interval, "next_level_minus_hit");
}

}  // namespace gputopo::probe
