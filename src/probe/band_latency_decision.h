// The latency of loads that hit one level, from loads of several: of single timed loads those in its band count, and
// untimed chains tell where nearly all are in it. Pure functions; band_latency.cpp takes the samples.
//
// What fools it: loads of another level that are as slow; a band whose end cuts off slow hits of its own level.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/histogram.h"

namespace gputopo::probe {

struct BandLatencyParameters {
  // An untimed chain is cut into segments, an odd number, so that their median is one of them: outliers spoil some of
  // them and not that. Longer ones lose less to their ends; more of them bear more outliers.
  std::uint64_t segment_loads = 128;
  std::uint32_t segments = 33;
  // The slowest loads are left out beyond this quantile: outliers would pull the mean. Smaller cuts off slow hits.
  double kept_quantile = 0.99;
  // Loads in the band that a mean needs.
  std::uint64_t min_loads = 8;
  // Untimed chains tell where no more than these parts of the loads hit nearer, whose latency is known and can be taken
  // off, and farther: no more than outliers, which the median of a chain's segments leaves out.
  double max_nearer = 0.05;
  double max_farther = 0.01;
};

// The mean of the loads in the band [low, high) as they were timed, the timer's cost taken off; nothing where they are
// too few.
[[nodiscard]] std::optional<double> timed_mean(const stats::Histogram& histogram, double low_cycles, double high_cycles,
                                               double timer_cycles, const BandLatencyParameters& parameters = {});

// Whether so many of the loads are in the band that the mean of all of them, untimed, tells: exact to a fraction of a
// cycle, which a histogram is not.
[[nodiscard]] bool is_nearly_all_in_band(const stats::Histogram& histogram, double low_cycles, double high_cycles,
                                         const BandLatencyParameters& parameters = {});

// Of the mean latencies of untimed chains, what the loads in the band took: those that hit nearer are taken off.
[[nodiscard]] std::vector<double> without_nearer(std::span<const double> chains_cycles,
                                                 const stats::Histogram& histogram, double low_cycles,
                                                 double timer_cycles);

}  // namespace gputopo::probe
