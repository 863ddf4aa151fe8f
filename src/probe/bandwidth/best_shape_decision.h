// Chooses the best of a few stream shapes and computes its rate.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stats/descriptive.h"

namespace gputopo::probe {

// Index of the highest rate, the first of equal ones. Empty if all are 0, within the timer's resolution.
[[nodiscard]] std::optional<std::size_t> best_shape(std::span<const double> bytes_per_second);

// Indices of up to `most` highest rates, highest first: the shapes to run again.
[[nodiscard]] std::vector<std::size_t> best_shapes(std::span<const double> bytes_per_second, std::size_t most);

struct Rate {
  double bytes_per_second = 0;  // median
  stats::Interval interval;     // of the mean, at least clock drift around the median
};
// Needs at least one run, and new ones, because chance helped the first runs to choose the shape.
[[nodiscard]] Rate rate_of_runs(std::span<const double> bytes_per_second);
// Whether the runs differ by less than clock drift, so that more runs would not narrow the interval.
[[nodiscard]] bool is_settled(std::span<const double> bytes_per_second);

}  // namespace gputopo::probe
