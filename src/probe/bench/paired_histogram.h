// Histograms of paired loads: how much longer the first load of a line took than the second, which is its translation.
// Pure functions; what fools them is whatever else only the first load waits for.
#pragma once

#include "stats/histogram.h"

namespace gputopo::probe {

struct PairedHistogramParameters {
  // slow_difference() is what the slowest loads take from this part on. It shows a level's misses where only one load
  // in ten meets an entry first and the others find what that one has brought. Larger: outliers show too; smaller: of
  // large entries the misses do not.
  double slow_part = 0.95;
  // added_by_translation() is of this part of the loads, and leaves as much out at the other end. Larger: outliers
  // count.
  double kept_part = 0.99;
};

// Part of the loads with a difference below `cycles`; 0 where there are none. Within a bin all differences are taken as
// equally likely: the misses of some levels cost hardly more than a bin is wide.
[[nodiscard]] double part_below(const stats::Histogram& paired, double cycles);

// What one load in twenty, or more, takes longer the first time; 0 where there are none.
[[nodiscard]] double slow_difference(const stats::Histogram& paired, const PairedHistogramParameters& parameters = {});

// The mean of what the first load of a pair takes longer, without outliers: the hundredths at both ends, and what
// differs by more than `max_cycles`.
[[nodiscard]] double added_by_translation(const stats::Histogram& paired, double max_cycles = 1e9,
                                          const PairedHistogramParameters& parameters = {});

}  // namespace gputopo::probe
