#include "probe/latency/memory_latency_decision.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gputopo/program.h"

namespace gputopo::probe {
namespace {

std::vector<double> smoothed(const stats::Histogram& loads, const MemorySidesParameters& parameters) {
  std::vector<double> density(loads.size());
  for (std::size_t bin = 1; bin < loads.size(); ++bin) {
    const double width = std::max(1.0, parameters.relative_bandwidth * static_cast<double>(bin));
    const auto reach = static_cast<std::size_t>(parameters.kernel_reach * width);
    const std::size_t end = std::min(loads.size(), bin + reach + 1);
    for (std::size_t other = bin - std::min(bin, reach); other < end; ++other) {
      const double apart = (static_cast<double>(other) - static_cast<double>(bin)) / width;
      density[bin] += loads[other] * std::exp(-apart * apart / 2) / width;
    }
  }
  return density;
}

}  // namespace

double hit_limit_of(const stats::Histogram& again, double survey_limit_cycles,
                    const SweepEvictionParameters& parameters) {
  const double ordinary = stats::histogram_quantile(again, parameters.ordinary_quantile);
  const double middle = stats::histogram_quantile(again, 0.5);
  const double limit = ordinary + parameters.beyond_ordinary * (ordinary - middle) + kHistogramBinCycles;
  const bool some_miss = stats::fraction_below(again, survey_limit_cycles) >= parameters.surely_hits;
  return some_miss ? std::min(limit, survey_limit_cycles) : limit;
}

SweptLoads swept_loads(const stats::Histogram& loads, const stats::Histogram& again, double survey_limit_cycles,
                       const SweepEvictionParameters& parameters) {
  return {.like_hits = stats::fraction_below(loads, hit_limit_of(again, survey_limit_cycles, parameters)),
          .in_band = stats::fraction_below(loads, survey_limit_cycles)};
}

bool are_evicted(std::span<const SweptLoads> sweeps, bool is_told, const SweepEvictionParameters& parameters) {
  const SweptLoads& last = sweeps.back();
  if (last.like_hits > parameters.most_like_hits) return false;
  if (last.in_band <= parameters.most_in_band) return true;
  if (!is_told && last.in_band > parameters.nearly_all) return false;
  const double still_there = is_told ? parameters.still_there : parameters.still_there_of_unknown;
  return sweeps.size() > 1 && last.in_band > still_there * sweeps[sweeps.size() - 2].in_band;
}

bool are_kept(std::span<const SweptLoads> sweeps, const SweepEvictionParameters& parameters) {
  const double last = sweeps.back().like_hits;
  if (last <= parameters.most_like_hits || sweeps.size() < 2) return false;
  return last > parameters.still_there * sweeps[sweeps.size() - 2].like_hits;
}

std::optional<double> near_far_boundary(const stats::Histogram& loads, const MemorySidesParameters& parameters) {
  const std::vector<double> density = smoothed(loads, parameters);
  std::optional<double> found;
  double deepest = parameters.valley;
  for (std::size_t bin = 1; bin + 1 < density.size(); ++bin) {
    if (density[bin] > density[bin - 1] || density[bin] > density[bin + 1]) continue;
    const double cycles = static_cast<double>(bin) * kHistogramBinCycles;
    const double part = stats::fraction_below(loads, cycles);
    if (std::min(part, 1 - part) < parameters.least_part) continue;
    const auto here = density.begin() + static_cast<std::ptrdiff_t>(bin);
    const double lower = std::min(*std::max_element(density.begin(), here), *std::max_element(here, density.end()));
    if (density[bin] >= deepest * lower) continue;
    deepest = density[bin] / lower;
    found = cycles;
  }
  return found;
}

}  // namespace gputopo::probe
