// The structure of a cache: sets, ways, which lines share a set, and which line gives way to a new one.
// Everything follows from conflict sets (conflicts.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/site.h"

namespace gputopo::probe {

// Lines of one set: one more than it has ways.
struct Conflict {
  std::vector<std::uint32_t> others;  // than the last, in the order of `walked`
  std::uint32_t last = 0;
  std::vector<std::uint32_t> walked;  // lines that fit, `others` among them; not with `last`

  [[nodiscard]] std::size_t ways() const { return others.size(); }
};

struct Structure {
  ChaseArray array;
  std::uint64_t line_bytes = 0;
  bool behind = false;  // another cache, so that the lines of one set are never walked alone
  double lines = 0;     // that the cache has: its size by the size of a line
  std::vector<Conflict> conflicts;
  Conditions conditions;

  [[nodiscard]] std::size_t fewest_ways() const;
  [[nodiscard]] std::size_t most_ways() const;
};

// Needs the cache's line and size. Throws Inconclusive where no conflict set holds its ground.
[[nodiscard]] Structure survey_structure(Lab& lab, const Cache& cache);

[[nodiscard]] Attribute structure_ways(const Structure& structure);
[[nodiscard]] Attribute structure_sets(const Structure& structure);
// "modulo": consecutive lines lie in consecutive sets; "bits B to E": address bits name the set, but others than those
// right above the line; "hashed": neither; "none": there is one set.
[[nodiscard]] Attribute structure_index(const Structure& structure);
// "lru", "fifo", "pseudo_lru" (always the same victim, and neither of these two), "random" (each way as likely),
// "other", or "none" where a set has one way. The details and samples have the share of each victim, by age.
[[nodiscard]] Attribute structure_replacement(Lab& lab, const Cache& cache, const Structure& structure);

}  // namespace gputopo::probe
