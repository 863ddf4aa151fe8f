// The structure of a cache: sets, ways, which lines share a set, and which line gives way to a new one.
//
// Everything follows from conflict sets: lines that do not all fit although any one less of them do. Whatever the index
// and the replacement, such lines are one more than a set has ways, and all of that set. They are found by leaving out
// lines at random from more than the cache holds, as long as what is left does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/site.h"

namespace gputopo::probe {

struct Structure {
  ChaseArray array;                                   // one element a line
  std::vector<std::vector<std::uint32_t>> conflicts;  // elements: each ways + 1 lines of one set, ascending
  double lines = 0;                                   // that the cache has: its size by the size of a line

  [[nodiscard]] std::size_t fewest_ways() const;
  [[nodiscard]] std::size_t most_ways() const;
};

// Needs the cache's line and size. Throws Inconclusive where no conflict set holds its ground.
[[nodiscard]] Structure survey_structure(Lab& lab, const Cache& cache);

[[nodiscard]] Attribute structure_ways(const Lab& lab, const Structure& structure);
[[nodiscard]] Attribute structure_sets(const Lab& lab, const Structure& structure);
// "modulo": consecutive lines lie in consecutive sets; "bits B to E": address bits name the set, but others than those
// right above the line; "hashed": neither; "none": there is one set.
[[nodiscard]] Attribute structure_index(const Lab& lab, const Structure& structure);
// "lru", "fifo", "pseudo_lru" (always the same victim, and neither of these two), "random" (each way as likely),
// "other", or "none" where a set has one way. The details and samples have the share of each victim, by age.
[[nodiscard]] Attribute structure_replacement(Lab& lab, const Cache& cache, const Structure& structure);

}  // namespace gputopo::probe
