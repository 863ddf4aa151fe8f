#include "probe/band_latency_decision.h"

#include <algorithm>

#include "gputopo/program.h"

namespace gputopo::probe {

std::optional<double> timed_mean(const stats::Histogram& histogram, double low_cycles, double high_cycles,
                                 double timer_cycles, const BandLatencyParameters& parameters) {
  const double kept = stats::histogram_quantile(histogram, parameters.kept_quantile) + kHistogramBinCycles;
  const stats::BandSummary band = stats::summarise_band(histogram, low_cycles, std::min(high_cycles, kept));
  if (band.count < parameters.min_loads) return std::nullopt;
  return band.mean - timer_cycles;
}

bool is_nearly_all_in_band(const stats::Histogram& histogram, double low_cycles, double high_cycles,
                           const BandLatencyParameters& parameters) {
  return stats::fraction_below(histogram, low_cycles) <= parameters.max_nearer &&
         stats::fraction_below(histogram, high_cycles) >= 1 - parameters.max_farther;
}

std::vector<double> without_nearer(std::span<const double> chains_cycles, const stats::Histogram& histogram,
                                   double low_cycles, double timer_cycles) {
  const double nearer = stats::fraction_below(histogram, low_cycles);
  const double nearer_cycles = nearer == 0 ? 0 : stats::summarise_band(histogram, 0, low_cycles).mean - timer_cycles;
  std::vector<double> means;
  for (const double cycles : chains_cycles) means.push_back((cycles - nearer * nearer_cycles) / (1 - nearer));
  return means;
}

}  // namespace gputopo::probe
