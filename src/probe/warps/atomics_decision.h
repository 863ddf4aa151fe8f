// Latency and throughput of warp atomics, from readings at several placements in L2.
#pragma once

#include <span>

#include "stats/descriptive.h"

namespace gputopo::probe {

// One warp on each SM, with its words in one placement.
struct AtomicReading {
  double cycles = 0;         // mean over the warps, of the median copy
  stats::Interval interval;  // of `cycles`
  double least_cycles = 0;   // of the nearest warp
  double most_cycles = 0;    // of the farthest warp
};

struct AtomicLatency {
  double cycles = 0;  // mean over the placements
  stats::Interval interval;
  double nearest_cycles = 0;
  double farthest_cycles = 0;
};

// Needs at least one placement. The interval is that of the mean over placements, but no narrower than that of one
// reading, because all readings share their systematic error.
[[nodiscard]] AtomicLatency atomic_latency_of(std::span<const AtomicReading> placements);

struct AtomicThroughput {
  double ops_per_clock = 0;
  stats::Interval interval;
};

// Needs at least one rate, in warp atomics per clock of one SM: one for each copy or placement.
[[nodiscard]] AtomicThroughput atomic_throughput_of(std::span<const double> warp_rates, double lanes);

}  // namespace gputopo::probe
