// The knee of the latency over the warps in flight.
#pragma once

#include <optional>
#include <span>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct LoadedLatencyDecisionParameters {
  // Least ratio of the latencies with the most and the fewest warps; below it the throughput is not reached. Larger
  // values miss knees near the most warps; with smaller values noise makes a knee.
  double saturated = 1.1;
};

struct LoadedReading {
  double warps = 0;  // in flight, with one load each
  double cycles = 0;
  double loads_per_cycle = 0;
};

struct LoadedLatency {
  double unloaded_cycles = 0;        // with the fewest warps
  double loaded_cycles = 0;          // with the most warps
  double peak_loads_per_cycle = 0;   // of any number of warps
  std::optional<double> knee_warps;  // empty if the throughput is not reached
};

// By Little's law, the loads in flight are throughput times latency: the latency stays constant up to the full
// throughput and then grows in proportion to the loads. The knee is where these lines meet. Readings ascend by warps.
[[nodiscard]] Decision<LoadedLatency> decide_loaded_latency(std::span<const LoadedReading> readings,
                                                            const LoadedLatencyDecisionParameters& parameters = {});

}  // namespace gputopo::probe
