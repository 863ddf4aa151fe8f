#include "probe/warps/atomics_decision.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "probe/bench/intervals.h"

namespace gputopo::probe {

AtomicLatency atomic_latency_of(std::span<const AtomicReading> placements) {
  AtomicLatency latency{.nearest_cycles = std::numeric_limits<double>::infinity()};
  std::vector<double> cycles;
  for (const AtomicReading& placement : placements) {
    cycles.push_back(placement.cycles);
    latency.nearest_cycles = std::min(latency.nearest_cycles, placement.least_cycles);
    latency.farthest_cycles = std::max(latency.farthest_cycles, placement.most_cycles);
  }
  latency.cycles = stats::mean(cycles);
  const stats::Interval of_one = placements.front().interval;
  const stats::Interval of_mean = placements.size() > 1 ? stats::mean_interval(cycles) : of_one;
  const double margin = (of_one.high - of_one.low) / 2;
  latency.interval = {std::min(of_mean.low, latency.cycles - margin), std::max(of_mean.high, latency.cycles + margin)};
  return latency;
}

AtomicThroughput atomic_throughput_of(std::span<const double> warp_rates, double lanes) {
  std::vector<double> rates;
  for (const double rate : warp_rates) rates.push_back(rate * lanes);
  const double median = stats::median(rates);
  return {median, interval_around(rates, median)};
}

}  // namespace gputopo::probe
