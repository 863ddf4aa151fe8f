// The latency of loads that hit one level, from loads of several: of single timed loads those in its band count, and
// untimed chains tell where nearly all are in it. Pure functions; band_latency.cpp takes the samples.
//
// What fools it: loads of another level that are as slow; a band whose end cuts off slow hits of its own level.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "stats/histogram.h"

namespace gputopo::probe {

struct BandLatencyParameters {
  // An untimed chain is cut into segments of four lengths, so many of each, so that what their ends and the loop around
  // the loads cost can be told from the loads: two that follow one link a pass, and two of whole passes
  // (unrolled_loads.h). Longer ones count for more against their ends; shorter ones are more often undisturbed: at
  // 1.5% of outliers every other of the longest is.
  std::array<std::uint64_t, 2> single_loads{7, 15};
  std::array<std::uint64_t, 2> unrolled_loads{16, 48};
  std::uint32_t segments = 65;
  // Loads in the band that a mean needs.
  std::uint64_t min_loads = 8;
  // Untimed chains tell where no more than these parts of the loads hit nearer and farther: no more than outliers,
  // which are left out with the segments that they spoil.
  double max_nearer = 0.002;
  double max_farther = 0.02;
};

// A piece of an untimed chain.
struct Segment {
  std::uint64_t loads = 0;
  double cycles = 0;  // of all of it
};

// What a chain costs.
struct ChainCost {
  double load_cycles = 0;  // each load, and nothing else
  double pass_cycles = 0;  // each pass of the loop around the loads, beyond them
};
// Of segments of the four lengths: what differs between two of a kind is loads and passes alone.
[[nodiscard]] ChainCost chain_cost(std::span<const Segment> segments, const BandLatencyParameters& parameters = {});

// The mean of the loads in the band [low, high) as they were timed, the timer's cost taken off; nothing where they are
// too few.
[[nodiscard]] std::optional<double> timed_mean(const stats::Histogram& histogram, double low_cycles, double high_cycles,
                                               double timer_cycles, const BandLatencyParameters& parameters = {});

// Part of the loads that take so long.
[[nodiscard]] double part_between(const stats::Histogram& histogram, double low_cycles, double high_cycles);

// Whether so many of the loads are in the band that the mean of all of them, untimed, tells: exact to a fraction of a
// cycle, which a histogram is not.
[[nodiscard]] bool is_nearly_all_in_band(const stats::Histogram& histogram, double low_cycles, double high_cycles,
                                         const BandLatencyParameters& parameters = {});

struct PossibleLatencyParameters {
  // No load is quicker. The quickest that is known takes eight cycles (the constant cache of GT200: Wong et al. 2010);
  // a chain that nothing waits for takes two to four a link.
  double least_cycles = 6;
};
[[nodiscard]] bool is_possible_latency(double cycles, const PossibleLatencyParameters& parameters = {});

}  // namespace gputopo::probe
