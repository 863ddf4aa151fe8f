// Structure of a cache: sets, ways, which lines share a set, and which line is evicted. All of it follows from
// conflict sets (conflict_search.h): they are found here, and geometry_decision.h and replacement_decision.h interpret
// them. What fools it: a neighbor that evicts lines; a nearer cache that hides loads.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/structure/geometry_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Conflict sets of a cache, found once for all attributes that follow from them.
struct Structure {
  ChaseArray array;  // holds the lines of the sets
  ConflictSets sets;
  Conditions conditions;

  // Elements of a line of the array.
  [[nodiscard]] std::vector<std::uint32_t> elements_of(std::uint32_t line) const;
};

// Needs the cache's line and size. Throws Inconclusive if no conflict set can be confirmed.
[[nodiscard]] Structure survey_structure(ProbeRunner& runner, const Cache& cache);

[[nodiscard]] Attribute structure_ways(const Structure& structure);
[[nodiscard]] Attribute structure_sets(const Structure& structure);
[[nodiscard]] Attribute structure_index(const Structure& structure);

}  // namespace gputopo::probe
