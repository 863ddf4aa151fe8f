// Descriptive statistics and intervals: pure functions on spans.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gputopo::stats {

struct Interval {
  double low = 0;
  double high = 0;
};

[[nodiscard]] double mean(std::span<const double> values);
// Between two points with equally many coordinates.
[[nodiscard]] double squared_distance(std::span<const float> a, std::span<const float> b);
// Sample standard deviation (n-1); 0 for fewer than two values.
[[nodiscard]] double standard_deviation(std::span<const double> values);
// Quantile by linear interpolation of order statistics (Hyndman and Fan 1996, type 7). q in [0, 1]; needs values.
[[nodiscard]] double quantile(std::span<const double> values, double q);
[[nodiscard]] double median(std::span<const double> values);
// Median absolute deviation times 1.4826: the standard deviation of a normal distribution, robust against outliers in
// up to half of the values (Hampel 1974).
[[nodiscard]] double robust_deviation(std::span<const double> values);
// Mean of the values between the `trim` and 1-`trim` quantiles.
[[nodiscard]] double trimmed_mean(std::span<const double> values, double trim);

// Exact confidence interval (Clopper-Pearson 1934) of the proportion `successes` / `trials`; [0, 1] without trials.
[[nodiscard]] Interval proportion_interval(std::uint64_t successes, std::uint64_t trials, double confidence = 0.95);
// Student's confidence interval of the mean of independent values; [v, v] for one value.
[[nodiscard]] Interval mean_interval(std::span<const double> values, double confidence = 0.95);

// Least-squares line y = intercept + slope * x; slope 0 if all x are equal.
struct Line {
  double intercept = 0;
  double slope = 0;
};
[[nodiscard]] Line fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace gputopo::stats
