// Line size: what a cache evicts at once. In a small cache, how many bytes of random halves of blocks are resident
// together (packing.h). Elsewhere, how far apart two touched sectors must be to take up two lines:
//
// A footprint of twice a comfortable one is touched once per `stride`. If a line is at most half the stride, only half
// the lines of the footprint are touched, as many as the comfortable footprint has, and they fit; if it is the stride
// or more, all lines are touched, and they do not. Two references with every line touched give the two miss ratios to
// tell apart, so that neither the replacement nor an uneven index matters. The upper half of the footprint is touched
// with and without a shift of half a stride, because which of the two spreads over all sets depends on the index.
//
// What fools it is said where it is decided: line_size_decision.h.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// Throws Inconclusive where the cache is not exceeded, or the footprints do not tell.
[[nodiscard]] Line find_line(Lab& lab, const Cache& cache);
// A line of these bytes. Throws Inconclusive where it is longer than what is looked for.
[[nodiscard]] Line make_line(const Lab& lab, std::uint64_t bytes, std::string method, NamedValues details);

[[nodiscard]] Attribute to_attribute(const Line& line);

}  // namespace gputopo::probe
