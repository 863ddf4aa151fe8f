// Load-to-use latency in SM cycles, without the timer cost. What fools it: loads of another level with latencies in
// the same band, and TLB misses that look like a farther level.
#pragma once

#include <optional>
#include <string>

#include "probe/latency/level_decision.h"
#include "probe/partitions/sides.h"
#include "probe/survey/band_latency.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Latency of one level of a survey, of memory, or of shared memory.
struct LevelLatency {
  MeanLatency mean;
  std::optional<LatencyDistribution> distribution;  // of single loads, if they were timed
  stats::Histogram histogram;          // raw latencies of these loads; empty if the mean comes from untimed chains only
  std::optional<double> timer_cycles;  // included in raw latencies
  std::string method;
  Conditions conditions;
  bool waits_for_translations = false;  // whether some of the loads do
};

// The nearest level of a survey: untimed chains over a tiny array, exact to a fraction of a cycle.
[[nodiscard]] LevelLatency nearest_latency(const Survey& survey);
// The latency from loads in a band, which ran in `runner`.
[[nodiscard]] LevelLatency banded_latency(const ProbeRunner& runner, const BandLatencies& latencies,
                                          const LatencyBand& band, double timer_cycles, std::string method);
// The latency of all levels of the cache together. `translated_bytes`: loads that span more than this also wait for
// translations (translated_span.h).
[[nodiscard]] LevelLatency find_level_latency(ProbeRunner& runner, const Cache& cache, std::uint64_t translated_bytes);

// Latency of a whole cache, or of its part near an SM and of its farther parts.
struct CacheLatency {
  LevelLatency nearest;
  std::optional<LevelLatency> far;
  bool has_parts = false;  // `nearest` is the near part, even without a far part
};
[[nodiscard]] CacheLatency find_latency(ProbeRunner& runner, const Cache& cache, std::uint64_t translated_bytes);
// The latency of the nearest and of the farthest level of the cache, if it has several. `sides`: of its SMs, or
// nullptr if unknown; then loads from near memory may be among the far hits.
[[nodiscard]] CacheLatency find_near_and_far_latency(ProbeRunner& runner, const Cache& cache,
                                                     std::uint64_t translated_bytes, const SmsByPartition* sides);

// The attributes of reports.
[[nodiscard]] Attribute measure_latency(ProbeRunner& runner, const Cache& cache, std::uint64_t translated_bytes);
// Near and far latency of an L2 with partitions; the value is the near one.
[[nodiscard]] Attribute measure_far_latency(ProbeRunner& runner, const Cache& l2, std::uint64_t translated_bytes,
                                            const SmsByPartition* sides);
[[nodiscard]] Attribute measure_shared_latency(ProbeRunner& runner, const Site& site);

}  // namespace gputopo::probe
