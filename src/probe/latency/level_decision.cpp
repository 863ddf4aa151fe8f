#include "probe/latency/level_decision.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gputopo/program.h"
#include "probe/bench/intervals.h"
#include "probe/survey/band_latency_decision.h"

namespace gputopo::probe {
namespace {

// Mean excess of the far first loads: those beyond the midpoint between their mean and that of the near loads.
std::optional<double> mean_of_far(const stats::Histogram& more, double gap_cycles,
                                  const FarLatencyParameters& parameters) {
  const double most = stats::histogram_quantile(more, parameters.kept_part) + kHistogramBinCycles;
  const auto mean_between = [&](double low, double high) { return timed_mean(more, low, high, kPairedZeroCycles); };
  double middle = gap_cycles / 2;
  std::optional<double> far;
  for (int round = 0; round < parameters.rounds; ++round) {
    far = mean_between(kPairedZeroCycles + middle, most);
    if (!far) return std::nullopt;
    const std::optional<double> near = mean_between(0, kPairedZeroCycles + middle);
    middle = (near.value_or(0) + *far) / 2;
  }
  return far;
}

}  // namespace

std::optional<std::size_t> footprint_for(std::span<const stats::Histogram> footprints, const LatencyBand& band,
                                         const LatencyDecisionParameters& parameters) {
  std::optional<std::size_t> found;
  double best = -1;
  for (std::size_t i = 0; i < footprints.size(); ++i) {
    const double part = part_between(footprints[i], band.low_cycles, band.high_cycles);
    if (part <= best + parameters.clearly_more) continue;
    best = part;
    found = i;
  }
  return found;
}

MeanLatency mean_latency(std::span<const double> means_cycles) {
  return {stats::median(means_cycles), latency_interval(means_cycles)};
}

std::optional<LatencyDistribution> distribution_of(stats::Histogram loads, const LatencyBand& band,
                                                   double timer_cycles) {
  for (std::size_t bin = 0; bin < loads.size(); ++bin) {
    const double cycles = static_cast<double>(bin) * kHistogramBinCycles;
    if (cycles < band.low_cycles || cycles >= band.high_cycles) loads[bin] = 0;
  }
  if (stats::total_count(loads) == 0) return std::nullopt;
  const auto quantile = [&](double q) { return stats::histogram_quantile(loads, q) - timer_cycles; };
  return LatencyDistribution{
      .least_cycles = quantile(0),
      .p50_cycles = quantile(0.5),
      .p95_cycles = quantile(0.95),
      .most_cycles = quantile(1),
      .deviation_cycles = stats::summarise_band(loads, 0, std::numeric_limits<double>::infinity()).deviation};
}

stats::Histogram histogram_of(std::span<const std::uint32_t> latencies_cycles) {
  constexpr std::uint32_t kMostBins = 1u << 15;
  stats::Histogram histogram;
  for (const std::uint32_t cycles : latencies_cycles) {
    const std::uint32_t bin = std::min(cycles / kHistogramBinCycles, kMostBins - 1);
    if (histogram.size() <= bin) histogram.resize(bin + 1);
    ++histogram[bin];
  }
  return histogram;
}

bool are_resolved(const stats::Histogram& loads, const LatencyBand& band, const CountedLatencyParameters& parameters) {
  constexpr double kLastBinCycles = (kHistogramBins - 1) * kHistogramBinCycles;
  if (loads.size() != kHistogramBins || band.high_cycles <= kLastBinCycles) return true;
  const double in_band = 1 - stats::fraction_below(loads, band.low_cycles);
  const double beyond = 1 - stats::fraction_below(loads, kLastBinCycles);
  return beyond <= parameters.most_beyond * in_band;
}

std::optional<MeanLatency> far_latency(const MeanLatency& near, std::span<const stats::Histogram> more_cycles,
                                       double gap_cycles, const FarLatencyParameters& parameters) {
  std::vector<double> means;
  for (const stats::Histogram& more : more_cycles) {
    if (const auto mean = mean_of_far(more, gap_cycles, parameters)) means.push_back(*mean);
  }
  if (means.empty()) return std::nullopt;
  const MeanLatency farther = mean_latency(means);
  const double margin = parameters.copy_part * farther.cycles;
  return MeanLatency{
      near.cycles + farther.cycles,
      {near.interval.low + farther.interval.low - margin, near.interval.high + farther.interval.high + margin}};
}

MeanLatency miss_penalty(std::span<const double> miss_means_cycles, const HitLatency& hit,
                         const MissPenaltyParameters& parameters) {
  const double penalty = stats::median(miss_means_cycles) - hit.cycles;
  const stats::Interval misses = stats::mean_interval(miss_means_cycles);
  const double of_misses = (misses.high - misses.low) / 2;
  // Both are measured, at different clocks.
  const double of_both = std::sqrt(of_misses * of_misses + hit.margin_cycles * hit.margin_cycles);
  const double margin = std::max(parameters.least_margin_cycles, of_both);
  return {penalty, {penalty - margin, penalty + margin}};
}

}  // namespace gputopo::probe
