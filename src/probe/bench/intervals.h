// 95% confidence intervals of timings that were repeated a few times. Copies share errors that their spread does not
// show: clock drift, the cost of chain ends, the width of histogram bins. No interval is narrower than these.
#pragma once

#include <span>

#include "stats/descriptive.h"

namespace gputopo::probe {

struct IntervalParameters {
  // Clock drift between two readings of the same timing, as part of it. Larger values widen all timing intervals.
  double clock_drift = 0.005;
  // Part of the timer cost that chain ends leave in a latency, plus half a histogram bin.
  double least_margin_cycles = 0.25;
};

// Student's interval of the mean of the copies, widened around `value` to the larger of clock drift and a margin.
[[nodiscard]] stats::Interval interval_around(std::span<const double> values, double value, double least_margin = 0,
                                              const IntervalParameters& parameters = {});
// For mean latencies of accesses.
[[nodiscard]] stats::Interval timing_interval(std::span<const double> cycles, double value,
                                              const IntervalParameters& parameters = {});
// For mean latencies of single loads, around their median. Adds both shared errors.
[[nodiscard]] stats::Interval latency_interval(std::span<const double> means_cycles,
                                               const IntervalParameters& parameters = {});

// Rounds to a hundredth or a tenth, as reports show it.
[[nodiscard]] double rounded(double value);
[[nodiscard]] double rounded_to_tenth(double value);

}  // namespace gputopo::probe
