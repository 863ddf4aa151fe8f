// The latency of loads that hit one level, from a mix of levels: the mean of the timed loads in its band, or untimed
// chains if nearly all loads are in the band. Pure functions; band_latency.cpp takes the samples.
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
  // An untimed chain has `segments` segments of each of four lengths, which separate the cost of the loads from that
  // of the segment ends and of the loop: two lengths follow one link per pass, two are whole passes
  // (unrolled_loads.h). Longer segments outweigh their ends better; shorter ones are more often undisturbed: 1.5% of
  // outliers hit half of the longest.
  std::array<std::uint64_t, 2> single_loads{7, 15};
  std::array<std::uint64_t, 2> unrolled_loads{16, 48};
  std::uint32_t segments = 65;
  // Loads in the band that a mean needs.
  std::uint64_t min_loads = 8;
  // Untimed chains give the latency if at most these parts of the loads hit nearer and farther levels. That is no more
  // than the outliers, which are left out together with the segments that they spoil.
  double max_nearer = 0.002;
  double max_farther = 0.02;
};

// A piece of an untimed chain.
struct Segment {
  std::uint64_t loads = 0;
  double cycles = 0;  // of the whole segment
};

// The cost of a chain.
struct ChainCost {
  double load_cycles = 0;  // of each load alone
  double pass_cycles = 0;  // of each pass of the loop, without its loads
};
// Needs segments of all four lengths. Two segments of a kind differ in loads and passes only.
[[nodiscard]] ChainCost chain_cost(std::span<const Segment> segments, const BandLatencyParameters& parameters = {});

// The mean of the timed loads in the band [low, high), without the timer cost; empty if there are too few.
[[nodiscard]] std::optional<double> timed_mean(const stats::Histogram& histogram, double low_cycles, double high_cycles,
                                               double timer_cycles, const BandLatencyParameters& parameters = {});

// Part of the loads in this band.
[[nodiscard]] double part_between(const stats::Histogram& histogram, double low_cycles, double high_cycles);

// Whether so many loads are in the band that the untimed mean of all loads is the latency of the band. That mean is
// exact to a fraction of a cycle, unlike a histogram.
[[nodiscard]] bool is_nearly_all_in_band(const stats::Histogram& histogram, double low_cycles, double high_cycles,
                                         const BandLatencyParameters& parameters = {});

struct PossibleLatencyParameters {
  // Fastest possible load. The fastest known load takes 8 cycles (the constant cache of GT200: Wong et al. 2010); a
  // chain that waits for nothing takes 2 to 4 cycles per link.
  double least_cycles = 6;
};
[[nodiscard]] bool is_possible_latency(double cycles, const PossibleLatencyParameters& parameters = {});

}  // namespace gputopo::probe
