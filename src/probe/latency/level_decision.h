// From loads that hit one level to its latency: which footprint shows it, the mean, and how the loads are distributed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "stats/descriptive.h"
#include "stats/histogram.h"

namespace gputopo::probe {

// Raw latencies [low, high) of the loads that hit a level.
struct LatencyBand {
  double low_cycles = 0;
  double high_cycles = 0;
};

struct LatencyDecisionParameters {
  // A footprint must have so much more of its loads in the band to be taken instead of a smaller one. More: smaller
  // footprints, of which more lies in nearer levels; less: noise chooses.
  double clearly_more = 0.02;
};

// Of histograms of the loads of footprints, smallest first, the one with most loads in the band. Nothing where there
// are no footprints.
[[nodiscard]] std::optional<std::size_t> footprint_for(std::span<const stats::Histogram> footprints,
                                                       const LatencyBand& band,
                                                       const LatencyDecisionParameters& parameters = {});

// Load-to-use: the median of the means of a program's copies.
struct MeanLatency {
  double cycles = 0;
  stats::Interval interval;
};
// Of at least one copy.
[[nodiscard]] MeanLatency mean_latency(std::span<const double> means_cycles);

// Of single loads, what timing them costs taken off.
struct LatencyDistribution {
  double least_cycles = 0;
  double p50_cycles = 0;
  double p95_cycles = 0;
  double most_cycles = 0;
  double deviation_cycles = 0;
};
// Of those in the band. Nothing where there are none.
[[nodiscard]] std::optional<LatencyDistribution> distribution_of(stats::Histogram loads, const LatencyBand& band,
                                                                 double timer_cycles);

struct CountedLatencyParameters {
  // Part of the loads that may take as long as the histogram's last bin or longer, whose mean is not known then. More:
  // means are too short; less: outliers take a latency away.
  double most_beyond = 0.02;
};
// Latencies as they were kept, in bins as wide as a device's: as many as it takes, up to 2^15.
[[nodiscard]] stats::Histogram histogram_of(std::span<const std::uint32_t> latencies_cycles);

// Whether the histogram tells how long the loads of the band took: a device's last bin counts all that took longer,
// too.
[[nodiscard]] bool are_told(const stats::Histogram& loads, const LatencyBand& band,
                            const CountedLatencyParameters& parameters = {});

struct FarLatencyParameters {
  // The slowest loads are left out from this part on. Larger: outliers count.
  double kept_part = 0.99;
  // Until the middle between near and far moves no more.
  int rounds = 8;
  // What the second load, of a copy, takes more than a near line, as a part of what the first does: 7 of 180 cycles on
  // an H200. The interval allows for it. Larger: wider intervals.
  double copy_part = 0.05;
};
// Of hits in another partition, by SMs that load each line twice: the first load is far, or near like the second. No
// load is from memory, which may take as long as a far hit. `more_cycles`: histograms of what first loads take more, of
// each SM; `gap_cycles`: about how much farther far is. Nothing where no SM has loads of either kind.
[[nodiscard]] std::optional<MeanLatency> far_latency(const MeanLatency& near,
                                                     std::span<const stats::Histogram> more_cycles, double gap_cycles,
                                                     const FarLatencyParameters& parameters = {});

// How much longer a load takes that misses a cache and hits the next level than one that hits.
struct MissPenaltyParameters {
  // Half of the narrowest interval: what the mean of a band is off by where levels overlap.
  double least_margin_cycles = 1;
};
// Of a hit, and half of its interval.
struct HitLatency {
  double cycles = 0;
  double margin_cycles = 0;
};
[[nodiscard]] MeanLatency miss_penalty(std::span<const double> miss_means_cycles, const HitLatency& hit,
                                       const MissPenaltyParameters& parameters = {});

}  // namespace gputopo::probe
