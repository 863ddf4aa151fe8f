// What each further one costs, of bank conflicts or addresses: a line through cycles over counts. What fools it: costs
// that do not grow evenly, which the residual shows.
#pragma once

#include <span>

#include "stats/descriptive.h"

namespace gputopo::probe {

struct CostLine {
  stats::Line line;
  double residual_cycles = 0;     // root mean square
  double slope_error_cycles = 0;  // standard error
};
// Of at least three points.
[[nodiscard]] CostLine cost_line(std::span<const double> counts, std::span<const double> cycles);

// 95% of a slope with this standard error, and no narrower than the drift of the clocks.
[[nodiscard]] stats::Interval slope_interval(double slope_cycles, double error_cycles);

}  // namespace gputopo::probe
