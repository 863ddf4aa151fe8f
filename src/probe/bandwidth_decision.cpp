#include "probe/bandwidth_decision.h"

#include "probe/intervals.h"

namespace gputopo::probe {

std::optional<std::size_t> best_shape(std::span<const double> bytes_per_second) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < bytes_per_second.size(); ++i) {
    if (bytes_per_second[i] > (best ? bytes_per_second[*best] : 0)) best = i;
  }
  return best;
}

Rate rate_of_runs(std::span<const double> bytes_per_second) {
  const double median = stats::median(bytes_per_second);
  return {median, interval_around(bytes_per_second, median)};
}

}  // namespace gputopo::probe
