// The structure of a cache: sets, ways, which lines share a set, and which line gives way to a new one. Everything
// follows from conflict sets (conflict_search.h): here they are found, and geometry_decision.h and
// replacement_decision.h say what they tell. Fooled where a neighbour evicts lines, or a cache before this one hides
// what is loaded.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/structure/geometry_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// What was found of a cache, once for all that follow from it.
struct Structure {
  ChaseArray array;  // that the lines of the sets are of
  ConflictSets sets;
  Conditions conditions;

  // Of a line of the array.
  [[nodiscard]] std::vector<std::uint32_t> elements_of(std::uint32_t line) const;
};

// Needs the cache's line and size. Throws Inconclusive where no conflict set holds its ground.
[[nodiscard]] Structure survey_structure(Lab& lab, const Cache& cache);

[[nodiscard]] Attribute structure_ways(const Structure& structure);
[[nodiscard]] Attribute structure_sets(const Structure& structure);
[[nodiscard]] Attribute structure_index(const Structure& structure);

}  // namespace gputopo::probe
