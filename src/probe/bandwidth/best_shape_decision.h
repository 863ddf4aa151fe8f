// The best of a few shapes of stream, and the rate of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stats/descriptive.h"

namespace gputopo::probe {

// The place of the highest rate, the first of those that are alike. Nothing where none is above 0: they ended within
// the timer's resolution.
[[nodiscard]] std::optional<std::size_t> best_shape(std::span<const double> bytes_per_second);

// The places of the highest rates, at most so many, the highest first: shapes that are looked at again.
[[nodiscard]] std::vector<std::size_t> best_shapes(std::span<const double> bytes_per_second, std::size_t most);

struct Rate {
  double bytes_per_second = 0;  // the median
  stats::Interval interval;     // of the mean, and what the clocks may drift by around the median
};
// Of at least one run. The shape is run again for it, or chance would have picked the value.
[[nodiscard]] Rate rate_of_runs(std::span<const double> bytes_per_second);
// Whether more runs would not narrow the interval: the runs differ by less than what the clocks may drift by.
[[nodiscard]] bool is_settled(std::span<const double> bytes_per_second);

}  // namespace gputopo::probe
