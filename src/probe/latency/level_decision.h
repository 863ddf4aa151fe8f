// Turns loads that hit one level into its latency: chooses the footprint, the mean, and the distribution of the loads.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "stats/descriptive.h"
#include "stats/histogram.h"

namespace gputopo::probe {

// Raw latencies [low, high) of loads that hit a level.
struct LatencyBand {
  double low_cycles = 0;
  double high_cycles = 0;
};

struct LatencyDecisionParameters {
  // A larger footprint replaces a smaller one if it has this much more of its loads in the band. Larger values prefer
  // small footprints, which hit nearer levels more; smaller values let noise choose.
  double clearly_more = 0.02;
};

// The histogram with the most loads in the band. `footprints`: histograms of loads, smallest footprint first. Empty if
// there are no footprints.
[[nodiscard]] std::optional<std::size_t> footprint_for(std::span<const stats::Histogram> footprints,
                                                       const LatencyBand& band,
                                                       const LatencyDecisionParameters& parameters = {});

// Load-to-use latency: the median of the means of a program's copies.
struct MeanLatency {
  double cycles = 0;
  stats::Interval interval;
};
// Needs at least one copy.
[[nodiscard]] MeanLatency mean_latency(std::span<const double> means_cycles);

// Distribution of single loads, without the timer cost.
struct LatencyDistribution {
  double least_cycles = 0;
  double p50_cycles = 0;
  double p95_cycles = 0;
  double most_cycles = 0;
  double deviation_cycles = 0;
};
// Distribution of the loads in the band. Empty if there are none.
[[nodiscard]] std::optional<LatencyDistribution> distribution_of(stats::Histogram loads, const LatencyBand& band,
                                                                 double timer_cycles);

struct CountedLatencyParameters {
  // Part of the loads that may reach the last bin of the histogram, which does not show how long they took. Larger
  // values accept means that are too short; smaller values let outliers suppress a latency.
  double most_beyond = 0.02;
};
// Histogram of kept latencies, in bins as wide as a device's: as many as needed, up to 2^15.
[[nodiscard]] stats::Histogram histogram_of(std::span<const std::uint32_t> latencies_cycles);

// Whether the histogram shows how long the loads of the band took: a device's last bin counts all longer loads.
[[nodiscard]] bool are_resolved(const stats::Histogram& loads, const LatencyBand& band,
                                const CountedLatencyParameters& parameters = {});

struct FarLatencyParameters {
  // Quantile at which the slowest loads are cut off. Larger values include outliers.
  double kept_part = 0.99;
  // Rounds in which the boundary between near and far settles.
  int rounds = 8;
  // How much longer the second load, which hits a copy, takes than a near line, as part of the first load's excess: 7
  // of 180 cycles on an H200. The interval allows for it. Larger values widen it.
  double copy_part = 0.05;
};
// Latency of hits in another partition, from SMs that load each line twice: the first load is far, or near like the
// second. None is from memory, which may be as slow as a far hit. `more_cycles`: histograms of the first loads'
// excess, by SM; `gap_cycles`: approximate distance of far from near. Empty if no SM has far loads.
[[nodiscard]] std::optional<MeanLatency> far_latency(const MeanLatency& near,
                                                     std::span<const stats::Histogram> more_cycles, double gap_cycles,
                                                     const FarLatencyParameters& parameters = {});

// How much longer a load takes that misses a cache and hits the next level than a load that hits.
struct MissPenaltyParameters {
  // Half width of the narrowest interval: the error of a band's mean where levels overlap.
  double least_margin_cycles = 1;
};
// Latency of a hit, and half the width of its interval.
struct HitLatency {
  double cycles = 0;
  double margin_cycles = 0;
};
[[nodiscard]] MeanLatency miss_penalty(std::span<const double> miss_means_cycles, const HitLatency& hit,
                                       const MissPenaltyParameters& parameters = {});

}  // namespace gputopo::probe
