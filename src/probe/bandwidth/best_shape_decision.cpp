#include "probe/bandwidth/best_shape_decision.h"

#include <algorithm>
#include <numeric>

#include "probe/bench/intervals.h"

namespace gputopo::probe {

std::optional<std::size_t> best_shape(std::span<const double> bytes_per_second) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < bytes_per_second.size(); ++i) {
    if (bytes_per_second[i] > (best ? bytes_per_second[*best] : 0)) best = i;
  }
  return best;
}

std::vector<std::size_t> best_shapes(std::span<const double> bytes_per_second, std::size_t most) {
  std::vector<std::size_t> places(bytes_per_second.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, std::ranges::greater(), [&](std::size_t i) { return bytes_per_second[i]; });
  places.resize(std::min(places.size(), most));
  return places;
}

Rate rate_of_runs(std::span<const double> bytes_per_second) {
  const double median = stats::median(bytes_per_second);
  return {median, interval_around(bytes_per_second, median)};
}

bool is_settled(std::span<const double> bytes_per_second) {
  const double median = stats::median(bytes_per_second);
  const stats::Interval of_clocks = interval_around(std::span(&median, 1), median);
  const stats::Interval students = stats::mean_interval(bytes_per_second);
  return students.low >= of_clocks.low && students.high <= of_clocks.high;
}

}  // namespace gputopo::probe
