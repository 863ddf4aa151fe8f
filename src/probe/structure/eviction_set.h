// Lines that evict another from a cache that SMs share (eviction_search.h): the whole block touches lines, and one load
// of the victim tells. Fooled by a cache whose parts are at different distances: a far victim is out of reach.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/structure/conflict_search.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Consecutive lines to choose from, and a few more at the end, of which each may be the one that is evicted.
struct EvictionPool {
  ChaseArray array;  // one element a line
  std::uint32_t lines = 0;
  std::uint32_t victims = 0;  // after them
};

[[nodiscard]] EvictionPool make_eviction_pool(const Cache& cache, double lines);

// Lines of the pool that evict the given one of its victims, the victim last; about two thousand.
// Nothing where it is not in reach (near in another partition of the cache), or what evicts it does not stay so.
[[nodiscard]] std::optional<LineGroup> lines_evicting(Lab& lab, const Cache& cache, const EvictionPool& pool,
                                                      std::uint32_t victim, std::uint64_t seed);

}  // namespace gputopo::probe
