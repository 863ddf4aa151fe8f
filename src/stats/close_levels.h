// Levels so close that no valley lies between them. They are found by the share of the nearer level among the loads:
// small footprints hit it alone; beyond its capacity, its share shrinks and slower loads appear.
//
// What fools it: latencies that creep up with the footprint, because of slices or translation; a neighbor on the GPU
// that spoils a few footprints. So the slower loads must be a good part, persist from some footprint on, become more,
// and be clearly apart from the nearer ones.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/levels.h"

namespace gputopo::stats {

struct CloseLevelParameters {
  // A footprint counts for a band if at least this part of its loads, and this many of them, lie in the band.
  double least_part = 0.3;
  std::uint64_t least_loads = 64;
  // This many of the first footprints hit the nearer level alone. For the nearest of all levels, the search tries
  // fewer if nothing shows, down to least_first_footprints. Smaller values find smaller caches, but take for levels
  // what only such small footprints avoid (slices).
  std::size_t first_footprints = 3;
  std::size_t least_first_footprints = 3;
  // Histogram bins by which clock drift may move the loads of a level between footprints. All loads of a quiet level
  // may move, and later footprints that fit then seem to hit it less. Larger values merge close levels.
  std::size_t drift_bins = 1;
  // The share of the nearer level among the loads in the band: the limit below which a footprint exceeds the level,
  // the share where it is clearly less, and the least number of footprints that are clearly less.
  double all_near = 0.9;
  double clearly_less = 0.75;
  std::size_t least_footprints = 2;
  // From this many footprints beyond the nearer level on, its share must fall by falls_by from their first half to
  // their second, or fall to stays_above. Smaller values of falls_by take the chance placement of a few lines for a
  // level; larger ones miss levels just beyond what can be measured.
  std::size_t telling_footprints = 6;
  double falls_by = 0.05;
  double stays_above = 0.55;
  // The least distance of two levels, as a part of the latency and in cycles. Slices and clocks make smaller ones: a
  // clock drift of 2% either way makes 4%.
  double least_gap = 0.045;
  double least_gap_cycles = 3;
  // The largest part of the loads of either level on the other's side; with more, the two are not told apart. Larger
  // values make footprints that fit seem to miss; smaller ones leave more levels undecided.
  double misjudged = 0.04;
  // Levels that differ by more than this part are always told apart, though some far loads may count as near.
  double surely_apart = 0.6;
};

struct CloseLevels {
  double near_cycles = 0;
  double far_cycles = 0;
  double boundary_cycles = 0;
  double misjudged = 0;  // part of the loads of either level on the other's side
  bool is_distinguishable = false;
};

// Finds two levels within the band of one, from one histogram per footprint, ascending. Nothing if it is one level.
[[nodiscard]] std::optional<CloseLevels> find_close_levels(std::span<const Histogram> footprints, const Level& band,
                                                           const CloseLevelParameters& parameters = {});

// Splits levels that can be told apart. `unsure`: the index of the first level that cannot be told from another.
[[nodiscard]] std::vector<Level> split_close_levels(std::span<const Histogram> footprints, std::vector<Level> levels,
                                                    std::optional<std::size_t>& unsure,
                                                    const CloseLevelParameters& parameters = {});

}  // namespace gputopo::stats
