// Levels so close that no valley lies between them: how the share of the nearer one moves with the footprint tells
// them. Small footprints hit it alone; beyond its capacity the share shrinks and slower loads appear.
//
// What fools it: latencies that creep up with the footprint, as slices and translations make them; a neighbour that
// spoils a few footprints. So the slower loads must come to a good part, stay from some footprint on, become more, and
// lie clear of the nearer ones.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/levels.h"

namespace gputopo::stats {

struct CloseLevelParameters {
  // A footprint tells something of a band with this part of its loads in it, and so many.
  double least_part = 0.3;
  std::uint64_t least_loads = 64;
  // The first footprints are of the nearer level alone: so many, or, of the nearest of all levels, where nothing shows
  // that way, fewer, down to the least. Fewer find smaller caches, and take for levels what only so small footprints
  // are spared of (slices).
  std::size_t first_footprints = 3;
  std::size_t least_first_footprints = 3;
  // Bins by which the clocks may move the loads of a level from one footprint to the next: of a quiet level all of
  // them, and then later footprints that fit seem to have less of it. Larger: closer levels look like one.
  std::size_t drift_bins = 1;
  // Part of the nearer level, of the loads in the band, up to where it has them all, and from where it does not; at the
  // footprint where it has the least, and how many footprints show that at least.
  double all_near = 0.9;
  double clearly_less = 0.75;
  std::size_t least_footprints = 2;
  // Of so many footprints beyond the nearer level it must fall by this from their first half to their second, or below
  // the least. Smaller: the luck of where a few lines lie is a level; larger: levels just beyond what can be asked are
  // not found.
  std::size_t telling_footprints = 6;
  double falls_by = 0.05;
  double stays_above = 0.55;
  // Apart by this part of the latency and by so many cycles: less is what slices and clocks make, whose drift by 2%
  // either way is 4%.
  double least_gap = 0.045;
  double least_gap_cycles = 3;
  // Of the loads of either level, at most this part on the other's side; with more they are not told apart. Larger:
  // footprints that fit seem to miss; smaller: more levels that nothing is told of.
  double misjudged = 0.04;
  // Levels whose latencies differ by more than this part are told apart whatever the noise, though some loads of the
  // farther may be taken for the nearer's.
  double surely_apart = 0.6;
};

struct CloseLevels {
  double near_cycles = 0;
  double far_cycles = 0;
  double boundary_cycles = 0;
  double misjudged = 0;  // part of the loads of either that is on the other's side
  bool told_apart = false;
};

// Two levels within the band of one, from one histogram per footprint, ascending. Nothing where it is one.
[[nodiscard]] std::optional<CloseLevels> find_close_levels(std::span<const Histogram> footprints, const Level& band,
                                                           const CloseLevelParameters& parameters = {});

// Splits what is told apart. The index of the first level whose loads are not told apart from those of another goes to
// `unsure`.
[[nodiscard]] std::vector<Level> split_close_levels(std::span<const Histogram> footprints, std::vector<Level> levels,
                                                    std::optional<std::size_t>& unsure,
                                                    const CloseLevelParameters& parameters = {});

}  // namespace gputopo::stats
