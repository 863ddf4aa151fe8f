// Loads over pages in a space that the SM's own cache may serve, which would hide translations. Rounds visit other
// lines of the same pages, so many in all that this cache holds none of them when they are loaded again. A cache that
// keeps some lines all the same fools the method: its size is tested first, and again in every walk. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "stats/histogram.h"

namespace gputopo::probe {

struct NearestCacheParameters {
  // Part of the loads that the SM's own cache may serve although it should hold none of the lines. Larger values take
  // what it serves for TLB hits; smaller values never exceed caches that do not drop the oldest line first.
  double few_served = 0.003;
  // The same for walks, whose lines fill the sets less evenly. Each such load lowers the apparent miss cost.
  double few_served_of_walk = 0.005;
  // Least extra latency (cycles) of a load that misses this cache. Less is noise.
  double least_gap_cycles = 12;
  // Multiples of the fewest lines that exceed the cache, tried in turn until one is conclusive: if lines are spread by
  // chance, some of the sets get few. Larger values take longer and overflow sets of L2; a small L2 allows only 1.
  std::vector<std::uint64_t> times_lines = {2, 4, 1};
  // Divisor: at most 1/2 of what L2 keeps. Smaller values overflow sets of L2.
  std::uint64_t part_of_kept = 2;
  // Memory serves the loads if a cache in between serves this part of the loads over fewer lines: faster than all but
  // quickest_part of those that exceed the SM's own cache. Larger values mistake walks that memory serves for L2 hits.
  double served_between = 0.1;
  double quickest_part = 0.02;
};

// The SM's own cache, as far as it is known.
struct NearestCache {
  std::uint64_t lines = 0;   // it holds none of this many lines that are loaded in turn; 0: no such cache
  double gap_cycles = 0;     // extra latency of a load that misses it
  double served_cycles = 0;  // it served loads with less extra latency than this
  bool of_memory = false;    // the cache behind it does not hold this many lines either

  [[nodiscard]] bool serves() const { return lines > 0; }
};

// Turns single loads into pairs whose second load hits this cache in `hit_cycles`.
[[nodiscard]] stats::Histogram as_paired(const stats::Histogram& raw, std::uint32_t hit_cycles);

// The part of the paired loads that this cache serves.
[[nodiscard]] double served_part(const stats::Histogram& paired, const NearestCache& cache);

// The first of ascending numbers of adjacent lines of which the cache serves hardly any, and its extra latency.
[[nodiscard]] std::optional<NearestCache> find_nearest_cache(
    const std::vector<std::pair<std::uint64_t, stats::Histogram>>& by_lines,
    const NearestCacheParameters& parameters = {});

// The same for lines that neither this cache nor the next holds, tested with adjacent ones. Nothing if memory is not
// clearly slower than that cache.
[[nodiscard]] std::optional<NearestCache> past_next_cache(const NearestCache& nearest, std::uint64_t lines,
                                                          const stats::Histogram& paired,
                                                          const NearestCacheParameters& parameters = {});

// Rounds over the lines, each with another line of the window that a line lies in. Windows have `window_lines` lines,
// a power of two, and begin at a multiple of it; there are no more rounds than that.
[[nodiscard]] std::vector<std::uint32_t> in_rounds(const std::vector<std::uint32_t>& lines, std::uint64_t window_lines,
                                                   std::uint64_t rounds);

}  // namespace gputopo::probe
