// Whether neighbouring lines are of one set. Then a few of them drive each other out while the other sets are empty,
// and no footprint of neighbouring lines shows what the cache holds: of 4.5 KiB in 18 sets that take 1 KiB each in
// turn, two lines stay. Told by lines that are apart: more of them than footprints show to fit can stay only where that
// is so.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/survey/site.h"

namespace gputopo::probe {

struct NeighbourSetsParameters {
  // As many neighbours as a set has ways stay at most, and sets of more ways are not known. More: caches that hold
  // more are looked at, in vain.
  std::uint64_t most_ways = 24;
  // So many times what footprints show to fit is loaded, apart. Fewer: what they miss of it passes.
  double more = 2;
  // Part of the loads that must hit. Smaller: noise is lines that stay.
  double stays = 0.9;
  std::uint64_t largest_stride_bytes = 16 << 10;
};

// Of the nearest cache of a space: bytes between lines of which more stay than of neighbours. Nothing where there are
// no such, or where so many neighbours fit that they are of several sets.
[[nodiscard]] std::optional<std::uint64_t> find_stride_that_stays(Lab& lab, const Cache& cache,
                                                                  const NeighbourSetsParameters& parameters = {});

}  // namespace gputopo::probe
