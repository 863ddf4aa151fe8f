#include "probe/capacity/change_point_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stats/change_point.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

// Midpoint between the means before and behind a change.
double middle_of(std::span<const double> series, std::size_t change) {
  return (stats::mean(series.first(change)) + stats::mean(series.subspan(change))) / 2;
}

bool has_spike(std::span<const double> series, double middle) {
  for (std::size_t i = 1; i + 1 < series.size(); ++i) {
    const bool above = series[i] > middle;
    if (above != (series[i - 1] > middle) && above != (series[i + 1] > middle)) return true;
  }
  return false;
}

}  // namespace

ByteRange range_to_search(const ChangePointQuestion& question) {
  constexpr std::uint64_t kLeastConstantBytes = 256;
  constexpr std::uint64_t kMostConstantL1Bytes = 16 * kKiB;
  constexpr std::uint64_t kLeastConstantL15Bytes = 8 * kKiB;
  constexpr std::uint64_t kMostSharedBytes = 64 * kMiB;
  ByteRange range{kKiB, kMiB};
  if (question.space == Space::kConstant) {
    range = question.depth == 0 ? ByteRange{kLeastConstantBytes, kMostConstantL1Bytes}
                                : ByteRange{kLeastConstantL15Bytes, question.limit_bytes};
  } else if (question.is_shared) {
    range.high = question.reported_bytes > 0 ? 2 * question.reported_bytes : kMostSharedBytes;
  }
  if (question.limit_bytes > 0) range.high = std::min(range.high, question.limit_bytes);
  return range;
}

std::uint64_t narrow_enough(const ByteRange& range, const ChangePointQuestion& question,
                            const ChangePointParameters& parameters) {
  const double part = parameters.narrow * static_cast<double>(range.high - range.low);
  return std::max(static_cast<std::uint64_t>(part), parameters.least_fetches * question.fetch_bytes);
}

bool takes_longer(const std::vector<double>& array, const std::vector<double>& smallest,
                  const std::vector<double>& largest, const ChangePointParameters& parameters) {
  const std::vector<double> of = stats::geometric_mapping(std::vector{array, smallest, largest});
  return of[0] - of[1] > parameters.rise * (of[2] - of[1]);
}

std::vector<std::uint64_t> sizes_of(const ByteRange& interval, const ChangePointQuestion& question,
                                    const ChangePointParameters& parameters) {
  const std::uint64_t fetch = question.fetch_bytes;
  const std::uint64_t most = question.is_shared ? parameters.shared_sizes : parameters.sizes;
  const std::uint64_t first = std::max(interval.low / fetch, std::uint64_t{1}) * fetch;
  const std::uint64_t fetches = interval.high > first ? (interval.high - first + fetch - 1) / fetch : 0;
  const std::uint64_t step = std::max((fetches + most - 1) / most, std::uint64_t{1}) * fetch;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = first; bytes < interval.high + step; bytes += step) sizes.push_back(bytes);
  return sizes;
}

ByteRange widened(const ByteRange& interval, const ByteRange& range, const ChangePointParameters& parameters) {
  const auto by =
      static_cast<std::uint64_t>(std::ceil(parameters.widen_by * static_cast<double>(interval.high - interval.low)));
  return {interval.low > range.low + by ? interval.low - by : range.low, std::min(interval.high + by, range.high)};
}

std::vector<double> reduced(std::span<const SizedLatencies> rows) {
  std::vector<std::vector<double>> latencies;
  for (const SizedLatencies& row : rows) latencies.push_back(row.latencies_cycles);
  return stats::geometric_mapping(latencies);
}

bool has_outliers(std::span<const double> series, const ChangePointParameters& parameters) {
  const auto change = stats::optimal_change_point(series);
  if (!change) return true;
  const double edge = std::max(1.0, parameters.edge * static_cast<double>(series.size()));
  const auto before = static_cast<double>(*change);
  const auto behind = static_cast<double>(series.size() - *change);
  return before <= edge || behind <= edge || has_spike(series, middle_of(series, *change));
}

Decision<ChangePointSize> decide_change_point(std::span<const SizedLatencies> rows,
                                              const ChangePointParameters& parameters) {
  const auto change = stats::most_likely_change(reduced(rows), parameters.alpha);
  if (!change) return {.value = std::nullopt, .basis = "", .why_not = "there are fewer than two sizes to compare"};
  const stats::KolmogorovSmirnov& test = change->test;
  const ChangePointSize found{rows[change->index - 1].bytes, rows[change->index].bytes, test.distance, test.p_value};
  const std::string basis =
      fmt::format("the most likely change among {} sizes is at {} B: Kolmogorov-Smirnov distance {:.3f}, p {:.2g}",
                  rows.size(), found.bytes, found.distance, found.p_value);
  if (!test.different) return {.value = std::nullopt, .basis = basis, .why_not = basis + ", which may be chance"};
  return {.value = found, .basis = basis, .why_not = ""};
}

Segments segments_of(std::uint64_t reported_bytes, std::uint64_t measured_bytes) {
  const auto told = static_cast<double>(reported_bytes);
  const auto measured = static_cast<double>(measured_bytes);
  const double count = std::max(1.0, std::round(told / measured));
  const double proximity = 1 - std::abs(told / count - measured) / measured;
  return {reported_bytes / static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(count),
          std::max(0.0, proximity)};
}

}  // namespace gputopo::probe
