#include "probe/bench/cost_line.h"

#include <algorithm>
#include <cmath>

#include "probe/bench/intervals.h"

namespace gputopo::probe {

CostLine cost_line(std::span<const double> counts, std::span<const double> cycles) {
  CostLine cost{.line = stats::fit_line(counts, cycles)};
  const double centre = stats::mean(counts);
  double squares = 0;
  double spread = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    squares += std::pow(cycles[i] - cost.line.intercept - cost.line.slope * counts[i], 2);
    spread += std::pow(counts[i] - centre, 2);
  }
  const auto count = static_cast<double>(counts.size());
  cost.residual_cycles = std::sqrt(squares / count);
  if (spread > 0) cost.slope_error_cycles = std::sqrt(squares / (count - 2) / spread);
  return cost;
}

stats::Interval slope_interval(double slope_cycles, double error_cycles) {
  constexpr double kTwoSided95 = 1.96;
  // Chain ends cost the same at every count, so only clock drift widens the interval of the slope.
  const double margin = std::max(kTwoSided95 * error_cycles, IntervalParameters{}.clock_drift * slope_cycles);
  return {slope_cycles - margin, slope_cycles + margin};
}

}  // namespace gputopo::probe
