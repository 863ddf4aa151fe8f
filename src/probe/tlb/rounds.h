// Loads over pages in a space whose loads the SM's own cache may serve, which would hide that they were translated.
// Other lines of the pages are loaded in turn, round after round, so many in all that this cache holds none of them
// when it is asked again. What fools it is a cache that keeps lines all the same: how many it keeps is looked at first,
// and again in every walk. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "stats/histogram.h"

namespace gputopo::probe {

struct NearestCacheParameters {
  // Part of the loads that may be served by the SM's own cache where it is to hold none. Larger: what it serves is
  // taken for loads that miss no TLB; smaller: caches that do not drop the oldest line first are never exceeded.
  double few_served = 0.003;
  // And in walks over pages, whose lines fill its sets less evenly. Each takes off what a miss seems to cost.
  double few_served_of_walk = 0.005;
  // What a load that it misses takes longer, at least. Less is noise.
  double least_gap_cycles = 12;
  // Times the fewest lines at which it holds none that are loaded at once, one after the other as long as that does not
  // tell: where lines are spread by chance some of its sets get few. More: takes longer, and sets of L2 overflow. Once
  // is all that a small L2 allows.
  std::vector<std::uint64_t> times_lines = {2, 4, 1};
  // And no more than this part of what L2 keeps. Smaller: sets of L2 overflow.
  std::uint64_t part_of_kept = 2;
  // Of fewer lines so many loads are served by a cache in between, quicker than all but this part of those that exceed
  // the SM's own. Larger: walks that memory serves count as those of L2.
  double served_between = 0.1;
  double quickest_part = 0.02;
};

// What is known of the SM's own cache.
struct NearestCache {
  std::uint64_t lines = 0;   // of so many that are loaded in turn it holds none; 0: no such cache
  double gap_cycles = 0;     // that a load which it misses takes longer
  double served_cycles = 0;  // what takes less longer than this was served by it
  bool of_memory = false;    // the cache behind it does not hold so many lines, either

  [[nodiscard]] bool serves() const { return lines > 0; }
};

// Single loads as pairs whose second load, which it serves, takes so long.
[[nodiscard]] stats::Histogram as_paired(const stats::Histogram& raw, std::uint32_t hit_cycles);

// Part of the paired loads that it serves.
[[nodiscard]] double served_part(const stats::Histogram& paired, const NearestCache& cache);

// Of ascending numbers of neighbouring lines, the first of which the cache serves hardly any, and what it takes longer.
[[nodiscard]] std::optional<NearestCache> find_nearest_cache(
    const std::vector<std::pair<std::uint64_t, stats::Histogram>>& by_lines,
    const NearestCacheParameters& parameters = {});

// So many lines, neighbours of which were loaded, of which neither the SM's own cache nor the one behind it holds any.
// Nothing where memory does not take clearly longer than that cache.
[[nodiscard]] std::optional<NearestCache> past_next_cache(const NearestCache& nearest, std::uint64_t lines,
                                                          const stats::Histogram& paired,
                                                          const NearestCacheParameters& parameters = {});

// So many rounds over the lines: in each round another line of the window that each lies in. Windows are of so many
// lines, a power of two, and begin at a multiple of it; rounds are no more than that.
[[nodiscard]] std::vector<std::uint32_t> in_rounds(const std::vector<std::uint32_t>& lines, std::uint64_t window_lines,
                                                   std::uint64_t rounds);

}  // namespace gputopo::probe
