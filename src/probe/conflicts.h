// Conflict sets: lines that do not all fit a cache although any one less of them do. Whatever the index and the
// replacement, such lines are one more than a set has ways, and all of that set.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/packing.h"

namespace gputopo::probe {

using LineGroup = FitTest::Group;

// One conflict set of `lines` lines (places of the test) that do not fit, ascending: lines are left out at random as
// long as what is left does not fit. Nothing where what seemed too much fits after all: noise. `at_once`: groups of
// lines that take no longer to try than one does.
[[nodiscard]] std::optional<LineGroup> minimal_conflict(Lab& lab, FitTest& test, std::size_t lines, std::size_t at_once,
                                                        std::uint64_t seed);

// Of lines that fit, but not with `last`: those without any of which the rest fits, in their order. They are of the set
// that `last` is one too many for. At least `least` lines are left in whatever is tried: behind another cache, that is
// to hold none of them.
[[nodiscard]] LineGroup conflicting_with(FitTest& test, const LineGroup& lines, std::uint32_t last, std::size_t least);

}  // namespace gputopo::probe
