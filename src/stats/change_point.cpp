#include "stats/change_point.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gputopo::stats {

std::vector<double> geometric_mapping(std::span<const std::vector<double>> rows) {
  double reference = std::numeric_limits<double>::infinity();
  for (const auto& row : rows) {
    for (const double value : row) reference = std::min(reference, value);
  }
  std::vector<double> mapped;
  mapped.reserve(rows.size());
  for (const auto& row : rows) {
    double sum = 0;
    for (const double value : row) sum += (value - reference) * (value - reference);
    mapped.push_back(row.empty() ? 0 : std::sqrt(sum / static_cast<double>(row.size())));
  }
  return mapped;
}

std::optional<std::size_t> optimal_change_point(std::span<const double> series) {
  const std::size_t n = series.size();
  if (n < 2) return std::nullopt;
  double total = 0;
  for (const double value : series) total += value;
  // The sum of squares is the same for every split, so the lowest cost has the largest sum^2/length of the segments.
  double before = 0;
  double best = -std::numeric_limits<double>::infinity();
  std::size_t best_index = 1;
  for (std::size_t t = 1; t < n; ++t) {
    before += series[t - 1];
    const double after = total - before;
    const double explained = before * before / static_cast<double>(t) + after * after / static_cast<double>(n - t);
    if (explained > best) {
      best = explained;
      best_index = t;
    }
  }
  return best_index;
}

KolmogorovSmirnov kolmogorov_smirnov(std::span<const double> first, std::span<const double> second, double alpha) {
  KolmogorovSmirnov result;
  if (first.empty() || second.empty()) return result;
  std::vector<double> a(first.begin(), first.end());
  std::vector<double> b(second.begin(), second.end());
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const double x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == x) ++i;
    while (j < b.size() && b[j] == x) ++j;
    result.distance = std::max(result.distance, std::abs(static_cast<double>(i) / n - static_cast<double>(j) / m));
  }
  result.critical = std::sqrt(-0.5 * std::log(alpha / 2) * (n + m) / (n * m));
  result.different = result.distance > result.critical;
  result.p_value = std::min(1.0, 2 * std::exp(-2 * result.distance * result.distance * n * m / (n + m)));
  return result;
}

std::optional<ChangePoint> most_likely_change(std::span<const double> series, double alpha) {
  const auto index = optimal_change_point(series);
  if (!index) return std::nullopt;
  return ChangePoint{*index, kolmogorov_smirnov(series.first(*index), series.subspan(*index), alpha)};
}

std::optional<ChangePoint> find_change_point(std::span<const double> series, double alpha) {
  const std::optional<ChangePoint> change = most_likely_change(series, alpha);
  return change && change->test.different ? change : std::nullopt;
}

std::optional<Bracket> bracket_size(std::uint64_t start, std::uint64_t limit, std::uint64_t resolution,
                                    const std::function<bool(std::uint64_t)>& misses) {
  Bracket bracket{0, 0};
  std::uint64_t size = std::min(start, limit);
  while (!misses(size)) {
    bracket.fits = size;
    if (size >= limit) return std::nullopt;
    size = std::min(size * 2, limit);
  }
  bracket.exceeds = size;
  while (bracket.exceeds - bracket.fits > resolution) {
    const std::uint64_t middle = bracket.fits + (bracket.exceeds - bracket.fits) / 2;
    (misses(middle) ? bracket.exceeds : bracket.fits) = middle;
  }
  return bracket;
}

}  // namespace gputopo::stats
