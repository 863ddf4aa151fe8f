#include "probe/latency/drift_decision.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gputopo::probe {
namespace {

// With at least this many looks, one of them can be ignored, and their differences show the noise.
constexpr std::size_t kManyLooks = 5;

// The median of each look and its neighbors, because one look beside another program is not drift, which persists.
std::vector<double> medians_of_three(std::span<const double> cycles) {
  std::vector<double> medians(cycles.begin(), cycles.end());
  if (cycles.size() < kManyLooks) return medians;
  for (std::size_t i = 1; i + 1 < cycles.size(); ++i) {
    medians[i] = stats::median(std::vector<double>(cycles.begin() + static_cast<std::ptrdiff_t>(i) - 1,
                                                   cycles.begin() + static_cast<std::ptrdiff_t>(i) + 2));
  }
  return medians;
}

// Typical distance of a look from the line through its neighbors; 0 for few looks.
double typical_bend(std::span<const double> cycles) {
  if (cycles.size() < kManyLooks) return 0;
  std::vector<double> bends;
  for (std::size_t i = 1; i + 1 < cycles.size(); ++i) {
    bends.push_back(std::abs(cycles[i] - (cycles[i - 1] + cycles[i + 1]) / 2));
  }
  return stats::median(bends);
}

}  // namespace

std::optional<stats::Interval> drift_of(std::span<const double> looks, const DriftParameters& parameters) {
  if (looks.size() < 2 || looks.front() <= 0) return std::nullopt;
  const std::vector<double> cycles = medians_of_three(looks);
  const auto [least, most] = std::minmax_element(cycles.begin(), cycles.end());
  const stats::Interval drift{*least / cycles.front() - 1, *most / cycles.front() - 1};
  if (drift.high - drift.low <= parameters.noise) return std::nullopt;
  const double bend = typical_bend(looks) / cycles.front();
  if (drift.high - drift.low > parameters.bends_of_noise * bend) return drift;
  return stats::Interval{drift.low - parameters.hidden_bends * bend, drift.high + parameters.hidden_bends * bend};
}

bool is_remarkable(const stats::Interval& drift, const DriftParameters& parameters) {
  return drift.high - drift.low > parameters.remarkable;
}

stats::Interval with_drift(const stats::Interval& interval, const stats::Interval& drift) {
  return {std::min(interval.low, interval.low / (1 + drift.high)),
          std::max(interval.high, interval.high / (1 + drift.low))};
}

}  // namespace gputopo::probe
