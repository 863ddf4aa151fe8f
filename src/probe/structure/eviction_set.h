// Lines that evict another from a cache that SMs share (eviction_search.h): the whole block touches lines, and one
// load of the victim tells. What fools it: parts of a cache at different distances; a far victim is out of reach.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/structure/conflict_search.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Consecutive lines to choose from, followed by a few that may serve as the victim.
struct EvictionPool {
  ChaseArray array;  // one element per line
  std::uint32_t lines = 0;
  std::uint32_t victims = 0;  // after the lines
};

[[nodiscard]] EvictionPool make_eviction_pool(const Cache& cache, double lines);

// About two thousand lines of the pool that evict the given victim, which comes last. Nothing if the victim is out of
// reach (near in another partition of the cache) or what evicts it keeps changing.
[[nodiscard]] std::optional<LineGroup> lines_evicting(ProbeRunner& runner, const Cache& cache, const EvictionPool& pool,
                                                      std::uint32_t victim, std::uint64_t seed);

}  // namespace gputopo::probe
