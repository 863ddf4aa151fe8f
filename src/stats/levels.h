// Level clustering: the levels of a memory hierarchy from the latencies of single loads over a sweep of footprints.
//
// Why not the change point of a reduced series alone: a sweep through two or three levels has several changes, a real
// cache ramps instead of stepping, and the reduction throws away that each single load hit exactly one level.
// Clustering the loads keeps that: a load is a hit of the level in whose band its latency lies, so hit fractions are
// counts.
#pragma once

#include <span>
#include <vector>

#include "stats/histogram.h"

namespace gputopo::stats {

struct LevelParameters {
  // Width of the smoothing kernel relative to the latency. Larger merges slices of one cache into one mode; smaller
  // resolves levels whose latencies differ by little.
  double relative_bandwidth = 0.04;
  // Two modes are apart when the valley between them is below this part of the lower one.
  double valley = 0.5;
  // A mode needs this part of the loads of at least one footprint, so that outliers make no level.
  double least_weight = 0.05;
  // A mode is a level of its own only if what lies below its valley is nearly everything at one footprint and clearly
  // less at another: a mixture that does not depend on the footprint (slices at different distances) is one level.
  double fits_fraction = 0.90;
  double exceeds_fraction = 0.75;
};

struct Level {
  double low_cycles = 0;   // the band [low, high) of raw latencies that hit this level
  double high_cycles = 0;  // infinity for the last
  double mode_cycles = 0;  // the most frequent latency
  // Of a level close to another: part of the loads of either that lie in the other's band.
  double misjudged = 0;
};

// Levels, nearest first, from one histogram per footprint. Empty if there are no loads.
[[nodiscard]] std::vector<Level> find_levels(std::span<const Histogram> footprints,
                                             const LevelParameters& parameters = {});

}  // namespace gputopo::stats
