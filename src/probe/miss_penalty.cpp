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
  const ChaseArray array = make_array(site, bytes, cache.line_or_fetch_bytes());
  const std::vector<double> misses = band_latencies(lab, survey, array, next.low_cycles, next.high_cycles).means_cycles;
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
  return measured(lab.conditions(), std::round(penalty * 10) / 10, "cycles",
                  stats::Interval{penalty - half, penalty + half}, "next_level_minus_hit");
}

}  // namespace gputopo::probe
