// The cost of each further bank conflict or address: the slope of a line through cycles over counts. Costs that do not
// grow evenly fool it; the residual shows them.
#pragma once

#include <span>

#include "stats/descriptive.h"

namespace gputopo::probe {

struct CostLine {
  stats::Line line;
  double residual_cycles = 0;     // root mean square
  double slope_error_cycles = 0;  // standard error
};
// Needs at least three points.
[[nodiscard]] CostLine cost_line(std::span<const double> counts, std::span<const double> cycles);

// 95% confidence interval of a slope with this standard error, at least as wide as the clock drift.
[[nodiscard]] stats::Interval slope_interval(double slope_cycles, double error_cycles);

}  // namespace gputopo::probe
