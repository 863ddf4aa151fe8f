#include "stats/descriptive.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "stats/precision.h"

namespace gputopo::stats {
namespace {

constexpr double kNormalConsistency = 1.4826;  // MAD of a normal distribution is sigma / 1.4826

double sorted_quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  // Several independent sums, which the CPU can add in parallel.
  std::array<float, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= a.size(); i += sums.size()) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += (a[i + k] - b[i + k]) * (a[i + k] - b[i + k]);
  }
  for (; i < a.size(); ++i) sums[0] += (a[i] - b[i]) * (a[i] - b[i]);
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double quantile(std::span<const double> values, double q) { return sorted_quantile(sorted_copy(values), q); }

double median(std::span<const double> values) { return quantile(values, 0.5); }

double robust_deviation(std::span<const double> values) {
  const double centre = median(values);
  std::vector<double> deviations(values.begin(), values.end());
  for (double& value : deviations) value = std::abs(value - centre);
  return kNormalConsistency * median(deviations);
}

double trimmed_mean(std::span<const double> values, double trim) {
  const std::vector<double> sorted = sorted_copy(values);
  const auto cut = static_cast<std::size_t>(trim * static_cast<double>(sorted.size()));
  return mean(std::span(sorted).subspan(cut, sorted.size() - 2 * cut));
}

Interval proportion_interval(std::uint64_t successes, std::uint64_t trials, double confidence) {
  if (trials == 0) return {0, 1};
  const double tail = (1 - confidence) / 2;
  const auto hits = static_cast<double>(successes);
  const auto misses = static_cast<double>(trials - successes);
  Interval interval{0, 1};
  if (successes > 0) interval.low = quantile(boost::math::beta_distribution<double, InDouble>(hits, misses + 1), tail);
  if (successes < trials)
    interval.high = quantile(boost::math::beta_distribution<double, InDouble>(hits + 1, misses), 1 - tail);
  return interval;
}

Interval mean_interval(std::span<const double> values, double confidence) {
  const double centre = mean(values);
  if (values.size() < 2) return {centre, centre};
  const boost::math::students_t_distribution<double, InDouble> distribution(static_cast<double>(values.size() - 1));
  const double factor = quantile(distribution, 0.5 + confidence / 2);
  const double half = factor * standard_deviation(values) / std::sqrt(static_cast<double>(values.size()));
  return {centre - half, centre + half};
}

Line fit_line(std::span<const double> x, std::span<const double> y) {
  const double x_mean = mean(x);
  const double y_mean = mean(y);
  double covariance = 0;
  double variance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    covariance += (x[i] - x_mean) * (y[i] - y_mean);
    variance += (x[i] - x_mean) * (x[i] - x_mean);
  }
  const double slope = variance > 0 ? covariance / variance : 0;
  return {y_mean - slope * x_mean, slope};
}

}  // namespace gputopo::stats
