// Load-to-use latency, in cycles of the SM, the timer's own cost taken off. What fools it: loads of another level whose
// latencies lie in the same band, and TLB misses that look like a farther level.
#pragma once

#include <optional>
#include <string>

#include "probe/latency/level_decision.h"
#include "probe/partitions/sides.h"
#include "probe/survey/band_latency.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Of one level of a survey, of memory, of a scratchpad.
struct LevelLatency {
  MeanLatency mean;
  std::optional<LatencyDistribution> distribution;  // of single loads, where they were timed
  stats::Histogram histogram;          // of them, raw; empty where the mean comes from untimed chains alone
  std::optional<double> timer_cycles;  // that raw latencies hold
  std::string method;
  Conditions conditions;
  bool waits_for_translations = false;  // some of the loads do
};

// The nearest level of a survey: untimed chains over a tiny array, exact to a fraction of a cycle.
[[nodiscard]] LevelLatency nearest_latency(const Survey& survey);
// Of loads in a band that were run in `lab`.
[[nodiscard]] LevelLatency banded_latency(const Lab& lab, const BandLatencies& latencies, const LatencyBand& band,
                                          double timer_cycles, std::string method);
// Of the levels of the cache as one. `translated_bytes`: loads that are spread over more wait for translations, too
// (translated_span.h).
[[nodiscard]] LevelLatency find_level_latency(Lab& lab, const Cache& cache, std::uint64_t translated_bytes);

// Of a cache: of all of it, or of the part near an SM and of the farther ones.
struct CacheLatency {
  LevelLatency nearest;
  std::optional<LevelLatency> far;
  bool has_parts = false;  // `nearest` is what is near, even if nothing is far
};
[[nodiscard]] CacheLatency find_latency(Lab& lab, const Cache& cache, std::uint64_t translated_bytes);
// Of the nearest of the cache's levels and of the farthest, where it has several. `sides`: of its SMs, or nullptr where
// they are not known; then loads from near memory may be among the far hits.
[[nodiscard]] CacheLatency find_near_and_far_latency(Lab& lab, const Cache& cache, std::uint64_t translated_bytes,
                                                     const Sides* sides);

// What reports show of each.
[[nodiscard]] Attribute measure_latency(Lab& lab, const Cache& cache, std::uint64_t translated_bytes);
// Near and far latency of an L2 with partitions; the value is the near one.
[[nodiscard]] Attribute measure_far_latency(Lab& lab, const Cache& l2, std::uint64_t translated_bytes,
                                            const Sides* sides);
[[nodiscard]] Attribute measure_shared_latency(Lab& lab, const Site& site);

}  // namespace gputopo::probe
