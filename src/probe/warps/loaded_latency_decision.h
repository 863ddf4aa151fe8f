// The knee of latency over warps in flight.
#pragma once

#include <optional>
#include <span>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct LoadedLatencyDecisionParameters {
  // The most warps must take this much longer than the fewest, or the throughput was not reached. More: knees near the
  // most warps are not told; less: noise makes a knee.
  double saturated = 1.1;
};

struct LoadedReading {
  double warps = 0;  // in flight, of one load each
  double cycles = 0;
  double loads_per_cycle = 0;
};

struct LoadedLatency {
  double unloaded_cycles = 0;        // with the fewest warps
  double loaded_cycles = 0;          // with the most
  double peak_loads_per_cycle = 0;   // of any number of warps
  std::optional<double> knee_warps;  // nothing where the throughput was not reached
};

// By Little's law the loads under way are the throughput times the latency, so latency stays as it is until the
// throughput is reached, and grows in proportion from there on; the knee is where the two meet. Readings by their
// warps, ascending.
[[nodiscard]] Decision<LoadedLatency> decide_loaded_latency(std::span<const LoadedReading> readings,
                                                            const LoadedLatencyDecisionParameters& parameters = {});

}  // namespace gputopo::probe
