// The change-point method of the original works (Groessler 2022, section 3.3; Vanecek et al. 2025, section IV-B), as
// pure functions: reduce the latencies of each size to one number (geometric mapping), find the most likely single
// change (Opt), and test it (two-sample Kolmogorov-Smirnov). docs/methods/survey.md says where gputopo uses it, and
// why not for levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gputopo::stats {

// S_i = sqrt(sum_j (r_ij - min(r))^2): one value per row of latencies, relative to the minimum of all rows (Vanecek et
// al., equation 2). Each sum is divided by the row's length before the root, so that longer rows do not look slower.
[[nodiscard]] std::vector<double> geometric_mapping(std::span<const std::vector<double>> rows);

// The index t in [1, n-1] that minimizes cost(0, t) + cost(t, n), where cost is the sum of squared deviations from the
// segment's mean (Opt with one change point: Groessler 2022, algorithm 1). The second segment begins at t. Empty for
// fewer than two values. O(n) by prefix sums.
[[nodiscard]] std::optional<std::size_t> optimal_change_point(std::span<const double> series);

struct KolmogorovSmirnov {
  double distance = 0;     // max |F(x) - G(x)|
  double critical = 0;     // critical distance at the given significance
  bool different = false;  // distance > critical
  // The significance at which this distance would be critical, by the same large-sample formula: the probability that
  // samples of one distribution are this far apart. 1 if a sample is empty.
  double p_value = 1;
};

// Two-sample Kolmogorov-Smirnov test with the large-sample critical value
// sqrt(-ln(alpha/2) / 2 * (n+m) / (n m)) (Groessler 2022, equation 3.3). Empty samples are never different.
[[nodiscard]] KolmogorovSmirnov kolmogorov_smirnov(std::span<const double> first, std::span<const double> second,
                                                   double alpha = 0.01);

struct ChangePoint {
  std::size_t index = 0;  // the first position after the change
  KolmogorovSmirnov test;
};

// Opt, then the K-S test of the values before and after the change, with any result. Empty below two values.
[[nodiscard]] std::optional<ChangePoint> most_likely_change(std::span<const double> series, double alpha = 0.01);
// The same, but also empty if the test finds no difference.
[[nodiscard]] std::optional<ChangePoint> find_change_point(std::span<const double> series, double alpha = 0.01);

struct Bracket {
  std::uint64_t fits = 0;     // largest size seen without misses
  std::uint64_t exceeds = 0;  // smallest size seen with misses
};

// The search of Groessler 2022, section 3.2: doubles the size, then halves the interval. `misses(size)` tells whether
// an array of that size shows misses. Stops when exceeds - fits <= resolution. Empty if nothing misses up to `limit`.
[[nodiscard]] std::optional<Bracket> bracket_size(std::uint64_t start, std::uint64_t limit, std::uint64_t resolution,
                                                  const std::function<bool(std::uint64_t)>& misses);

}  // namespace gputopo::stats
