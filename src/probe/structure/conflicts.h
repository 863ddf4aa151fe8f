// Conflict sets (conflict_search.h) of lines that are walked again and again: a walk of lines that do not all fit
// misses in every pass. Fooled by a neighbour that evicts lines throughout.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/capacity/packing.h"
#include "probe/structure/conflict_search.h"

namespace gputopo::probe {

// One conflict set of `lines` lines (places of the test) that do not fit, ascending. Nothing where what seemed too many
// fits after all: noise. `at_once`: groups of lines that take no longer to try than one does. Throws Inconclusive
// where noise hides what is one too many.
[[nodiscard]] std::optional<LineGroup> minimal_conflict(Lab& lab, FitTest& test, std::size_t lines, std::size_t at_once,
                                                        std::uint64_t seed);

// Of lines that fit, but not with `last`: those of the set that `last` is one too many for. At least `least` lines are
// left in whatever is tried: behind another cache, that is to hold none of them.
[[nodiscard]] LineGroup conflicting_with(FitTest& test, const LineGroup& lines, std::uint32_t last, std::size_t least);

}  // namespace gputopo::probe
