// Conflict sets (conflict_search.h) of lines that are walked repeatedly: lines that do not all fit miss in every pass.
// What fools it: a neighbor that evicts lines throughout.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/capacity/packing.h"
#include "probe/structure/conflict_search.h"

namespace gputopo::probe {

// One conflict set, ascending, of `lines` lines (places of the test) that do not fit. Nothing if noise made them seem
// so. `at_once`: groups that take no longer to try than one. Throws Inconclusive if noise hides one line too many.
[[nodiscard]] std::optional<LineGroup> minimal_conflict(ProbeRunner& runner, FitTest& test, std::size_t lines,
                                                        std::size_t at_once, std::uint64_t seed);

// Returns those of `lines` in the set that `last` overfills; `lines` fit without `last`. Each trial walks at least
// `least` lines, so that a nearer cache holds none of them.
[[nodiscard]] LineGroup conflicting_with(FitTest& test, const LineGroup& lines, std::uint32_t last, std::size_t least);

}  // namespace gputopo::probe
