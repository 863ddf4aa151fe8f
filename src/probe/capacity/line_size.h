// Line size: the unit of eviction. For a small cache, counts how many bytes of random halves of blocks are resident
// together (packing.h). For others, finds how far apart two touched sectors must be to occupy two lines:
//
// A footprint twice as large as one that fits is touched once per `stride`. If a line is at most half the stride,
// only half of the lines are touched, as many as the fitting footprint has, and they fit. If a line is at least the
// stride, all lines are touched and do not fit. Two references with every line touched give the two miss ratios to
// tell apart, so neither the policy nor an uneven index matters. The upper half of the footprint is touched with and
// without a shift of half a stride, because the index decides which of the two spreads over all sets.
//
// line_size_decision.h says what fools it.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// Throws Inconclusive if the cache is not exceeded or the footprints do not decide.
[[nodiscard]] Line find_line(ProbeRunner& runner, const Cache& cache);
// A line of `bytes`. Throws Inconclusive if that exceeds the longest line that is searched for.
[[nodiscard]] Line make_line(const ProbeRunner& runner, std::uint64_t bytes, std::string method, NamedValues details);

[[nodiscard]] Attribute to_attribute(const Line& line);

}  // namespace gputopo::probe
