#include "probe/warps/loaded_latency_decision.h"

#include <fmt/format.h>

#include <algorithm>

namespace gputopo::probe {

Decision<LoadedLatency> decide_loaded_latency(std::span<const LoadedReading> readings,
                                              const LoadedLatencyDecisionParameters& parameters) {
  if (readings.empty()) return {.why_not = "no latency was measured for any number of warps"};
  LoadedLatency found{.unloaded_cycles = readings.front().cycles, .loaded_cycles = readings.back().cycles};
  for (const LoadedReading& reading : readings) {
    found.peak_loads_per_cycle = std::max(found.peak_loads_per_cycle, reading.loads_per_cycle);
  }
  Decision<LoadedLatency> decision{.basis = fmt::format("{:.0f} cycles unloaded, at most {:.3f} loads per cycle",
                                                        found.unloaded_cycles, found.peak_loads_per_cycle)};
  // A single reading shows nothing about load.
  if (readings.size() > 1 && found.loaded_cycles >= parameters.saturated * found.unloaded_cycles) {
    found.knee_warps = found.peak_loads_per_cycle * found.unloaded_cycles;
    decision.basis += fmt::format(", knee at {:.1f} warps", *found.knee_warps);
  }
  decision.value = found;
  return decision;
}

}  // namespace gputopo::probe
