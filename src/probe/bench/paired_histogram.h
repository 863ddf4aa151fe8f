// Histograms of paired loads: how much longer the first load of a line takes than the second, which is the cost of its
// translation. Pure functions. Anything else that only the first load waits for fools them.
#pragma once

#include "stats/histogram.h"

namespace gputopo::probe {

struct PairedHistogramParameters {
  // Quantile of the differences that slow_difference() returns. It shows the misses of a level even if only one load
  // in ten uses an entry first and the others hit that entry. Larger values also show outliers; smaller values hide
  // the misses of large entries.
  double slow_part = 0.95;
  // Quantile at which added_by_translation() cuts the slowest loads; it cuts as many of the fastest. Larger values
  // include outliers.
  double kept_part = 0.99;
};

// Part of the loads with a difference below `cycles`; 0 if there are no loads. Assumes that differences are uniform
// within a bin, because the misses of some levels cost hardly more than the width of a bin.
[[nodiscard]] double part_below(const stats::Histogram& paired, double cycles);

// The difference that one load in twenty reaches or exceeds; 0 if there are no loads.
[[nodiscard]] double slow_difference(const stats::Histogram& paired, const PairedHistogramParameters& parameters = {});

// The mean difference without outliers: without the 1% of the loads at either end and without differences of more than
// `max_cycles`.
[[nodiscard]] double added_by_translation(const stats::Histogram& paired, double max_cycles = 1e9,
                                          const PairedHistogramParameters& parameters = {});

}  // namespace gputopo::probe
