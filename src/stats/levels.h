// Level clustering: finds the levels of a memory hierarchy from the latencies of single loads over a sweep of
// footprints.
//
// The change point of a reduced series is not enough: a sweep through two or three levels has several changes, a real
// cache ramps instead of stepping, and the reduction discards that each load hits exactly one level. Clustering the
// loads keeps this: a load hits the level whose band contains its latency, so hit fractions are counts.
#pragma once

#include <span>
#include <vector>

#include "stats/histogram.h"

namespace gputopo::stats {

struct LevelParameters {
  // Width of the smoothing kernel relative to the latency. Larger values merge slices of one cache into one mode;
  // smaller values separate levels whose latencies differ by little.
  double relative_bandwidth = 0.04;
  // Two modes are separate if the valley between them is below this part of the lower one.
  double valley = 0.5;
  // A mode needs at least this part of the loads of some footprint, so that outliers make no level.
  double least_weight = 0.05;
  // A mode is a separate level only if the loads below its valley are nearly all loads of some footprint and clearly
  // fewer of another. A mixture that does not depend on the footprint (slices at different distances) is one level.
  double fits_fraction = 0.90;
  double exceeds_fraction = 0.75;
};

struct Level {
  double low_cycles = 0;   // the band [low, high) of raw latencies that hit this level
  double high_cycles = 0;  // infinity for the last level
  double mode_cycles = 0;  // the most frequent latency
  // For a level close to another: part of the loads of either that lie in the other's band.
  double misjudged = 0;
};

// Levels, nearest first, from one histogram per footprint. Empty if there are no loads.
[[nodiscard]] std::vector<Level> find_levels(std::span<const Histogram> footprints,
                                             const LevelParameters& parameters = {});

}  // namespace gputopo::stats
