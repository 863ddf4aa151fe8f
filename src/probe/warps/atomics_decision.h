// How long an atomic of a warp takes and how many there are per cycle, from readings at several placements in L2.
#pragma once

#include <span>

#include "stats/descriptive.h"

namespace gputopo::probe {

// Of one warp on each SM, whose words lie somewhere.
struct AtomicReading {
  double cycles = 0;         // of the median copy, the mean over the warps
  stats::Interval interval;  // of it
  double least_cycles = 0;   // of the nearest warp
  double most_cycles = 0;    // of the farthest
};

struct AtomicLatency {
  double cycles = 0;  // the mean over the placements
  stats::Interval interval;
  double nearest_cycles = 0;
  double farthest_cycles = 0;
};

// Of at least one placement. The interval is that of the mean over placements, where there are several, but no narrower
// than that of one of them: what a reading may be off is the same at all.
[[nodiscard]] AtomicLatency atomic_latency_of(std::span<const AtomicReading> placements);

struct AtomicThroughput {
  double ops_per_clock = 0;
  stats::Interval interval;
};

// Of at least one rate, in atomics of warps per clock of one SM: of copies, or of placements.
[[nodiscard]] AtomicThroughput atomic_throughput_of(std::span<const double> warp_rates, double lanes);

}  // namespace gputopo::probe
