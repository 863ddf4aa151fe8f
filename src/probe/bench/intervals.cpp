#include "probe/bench/intervals.h"

#include <algorithm>
#include <cmath>

namespace gputopo::probe {

stats::Interval interval_around(std::span<const double> values, double value, double least_margin,
                                const IntervalParameters& parameters) {
  const double margin = std::max(least_margin, parameters.clock_drift * value);
  const stats::Interval students = stats::mean_interval(values);
  return {std::min(students.low, value - margin), std::max(students.high, value + margin)};
}

stats::Interval timing_interval(std::span<const double> cycles, double value, const IntervalParameters& parameters) {
  return interval_around(cycles, value, parameters.least_margin_cycles, parameters);
}

stats::Interval latency_interval(std::span<const double> means_cycles, const IntervalParameters& parameters) {
  const double centre = stats::median(means_cycles);
  const double margin = parameters.least_margin_cycles + parameters.clock_drift * centre;
  const stats::Interval students = stats::mean_interval(means_cycles);
  return {std::min(students.low, centre - margin), std::max(students.high, centre + margin)};
}

double rounded(double value) { return std::round(100 * value) / 100; }

double rounded_to_tenth(double value) { return std::round(10 * value) / 10; }

}  // namespace gputopo::probe
