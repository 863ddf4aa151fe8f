#include "stats/outliers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gputopo/program.h"
#include "stats/descriptive.h"

namespace gputopo::stats {
namespace {

double normal_density(double value, double deviation) {
  const double standard = value / deviation;
  return std::exp(-standard * standard / 2) / (deviation * std::sqrt(2 * std::numbers::pi));
}

// The density of the sum of a normal and an exponential variable; `delay` is the mean of the latter.
double delayed_density(double value, double deviation, double delay) {
  constexpr double kLargestExponent = 500;
  const double exponent = std::min(kLargestExponent, deviation * deviation / (2 * delay * delay) - value / delay);
  return std::exp(exponent) * std::erfc((deviation / delay - value / deviation) / std::numbers::sqrt2) / (2 * delay);
}

}  // namespace

double undisturbed_mean(std::span<const double> values, const OutlierParameters& parameters) {
  const double low = quantile(values, parameters.low_quantile);
  double centre = quantile(values, parameters.middle_quantile);
  double deviation = std::max(parameters.least_deviation_cycles, centre - low);
  double disturbed = parameters.first_part;
  double delay = std::max(parameters.least_delay_cycles, mean(values) - centre);
  for (int round = 0; round < parameters.rounds; ++round) {
    double count = 0;  // undisturbed timings, each weighted by its probability
    double sum = 0;
    double squares = 0;
    double delays = 0;
    for (const double value : values) {
      const double later = value - centre;
      const double ordinary = (1 - disturbed) * normal_density(later, deviation);
      const double other = disturbed * delayed_density(later, deviation, delay);
      const double likely = ordinary > 0 ? ordinary / (ordinary + other) : 0;
      count += likely;
      sum += likely * value;
      squares += likely * later * later;
      delays += (1 - likely) * std::max(0.0, later);
    }
    if (count < 1) break;
    const double moved = std::abs(sum / count - centre);
    const double others = static_cast<double>(values.size()) - count;
    centre = sum / count;
    deviation = std::max(parameters.least_deviation_cycles, std::sqrt(squares / count));
    disturbed = others / static_cast<double>(values.size());
    delay = std::max(parameters.least_delay_cycles, others > 0 ? delays / others : 0);
    if (moved < parameters.settled_cycles) break;
  }
  return centre;
}

double disturbed_from(const Histogram& loads, const OutlierParameters& parameters) {
  const double ordinary = histogram_quantile(loads, parameters.ordinary_quantile);
  const double middle = histogram_quantile(loads, 0.5);
  return ordinary + parameters.beyond_ordinary * (ordinary - middle) + kHistogramBinCycles;
}

}  // namespace gputopo::stats
