// 95% intervals of timings that were repeated a few times. A few copies have errors in common that their spread does
// not show: the drift of the clocks, what the ends of a chain cost, the width of a histogram's bins. So no interval is
// narrower than that.
#pragma once

#include <span>

#include "stats/descriptive.h"

namespace gputopo::probe {

struct IntervalParameters {
  // Part of a value that the clocks may drift between two readings of the same. More: wider intervals of all timings.
  double clock_drift = 0.005;
  // What the ends of a chain leave of the timer's cost, and half of a histogram's bin.
  double least_margin_cycles = 0.25;
};

// Student's interval of the mean of copies, and as much around `value` as their errors in common may be: the drift of
// the clocks, and no less than a margin.
[[nodiscard]] stats::Interval interval_around(std::span<const double> values, double value, double least_margin = 0,
                                              const IntervalParameters& parameters = {});
// Of mean latencies of accesses.
[[nodiscard]] stats::Interval timing_interval(std::span<const double> cycles, double value,
                                              const IntervalParameters& parameters = {});
// Of mean latencies of single loads, about their median: both errors in common.
[[nodiscard]] stats::Interval latency_interval(std::span<const double> means_cycles,
                                               const IntervalParameters& parameters = {});

// To a hundredth or a tenth, as reports show it.
[[nodiscard]] double rounded(double value);
[[nodiscard]] double rounded_to_tenth(double value);

}  // namespace gputopo::probe
