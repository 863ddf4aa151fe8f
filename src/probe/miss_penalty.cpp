// Miss penalty: how much longer a load takes that misses this cache and hits the next level than one that hits here.
#include <cmath>

#include "probe/site.h"

namespace gputopo::probe {

Attribute measure_miss_penalty(Lab& lab, const Cache& cache) {
  require_exceeded(cache, "so no load misses it");
  const Survey& survey = *cache.survey;
  const Site& site = cache.site();
  const stats::Level& next = survey.levels[cache.last_level + 1];
  // Four times what fits: walked in order, nearly nothing hits here under any replacement, and what is next still holds
  // it.
  constexpr std::uint64_t kFactor = 4;
  const std::uint64_t bytes =
      site.clamp(kFactor * std::max(cache.fits_bytes, static_cast<std::uint64_t>(cache.resident_bytes)));
  const ChaseArray array = make_array(site, bytes, std::max(cache.fetch_bytes, cache.line_bytes), Order::kShuffled);
  const std::uint64_t loads = std::min(lab.parameters().survey_loads, 2 * array.element_count());
  const ChaseProgram program =
      make_program(site, {array}, {warm_step(site, array), {.kind = StepKind::kCounted, .loads = loads}});
  std::vector<double> misses;
  for (const ChaseResult& copy : lab.chase(std::vector<ChaseProgram>(lab.parameters().copies, program))) {
    const stats::BandSummary band = stats::summarise_band(copy.steps[1].histogram, next.low_cycles, next.high_cycles);
    constexpr std::uint64_t kLeastLoads = 8;
    if (band.count >= kLeastLoads) misses.push_back(band.mean - survey.timer_cycles);
  }
  if (misses.empty()) throw Inconclusive("too few loads missed to give a penalty");
  double hit = stats::median(survey.tiny_latencies_cycles);
  if (cache.last_level > 0) {
    // The mean of the farthest level of this cache, over all footprints of the survey.
    stats::Histogram sum;
    for (const stats::Histogram& histogram : survey.histograms) stats::accumulate(sum, histogram);
    hit = stats::summarise_band(sum, survey.levels[cache.last_level].low_cycles, cache.hit_limit_cycles()).mean -
          survey.timer_cycles;
  }
  const double penalty = stats::median(misses) - hit;
  const stats::Interval interval = stats::mean_interval(misses);
  const double half = std::max(1.0, (interval.high - interval.low) / 2);
  return measured(lab, std::round(penalty * 10) / 10, "cycles", stats::Interval{penalty - half, penalty + half},
                  "next_level_minus_hit");
}

}  // namespace gputopo::probe
