// The ways of each set of a TLB level, from the further misses with each page beyond its reach: all pages of the set
// that the page falls into miss. The method is fooled by replacement of other than the oldest entry, hashed sets and
// other pages: the ways then do not add up to the entries, and nothing is reported. With one way per set, the last two
// sets look like one. For many entries, equal sets are found from the line along which misses grow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/tlb/reach_decision.h"

namespace gputopo::probe {

struct TlbSetsParameters {
  // Most entries: each page beyond needs a walk over all of them.
  std::uint64_t max_entries = 512;
  // Most pages beyond, one for each set.
  std::uint64_t max_sets = 64;
  // Missed part of the pages of a noisy level that shows a single set. Larger values may take two sets for one.
  double nearly_all = 0.8;
  // Largest distance of further misses per page from a whole number, with their error. 0.5 allows one way more or
  // less; smaller values report nothing among noise. H200s need 0.35: sets with a page too many do not always miss.
  double whole_within = 0.45;
  // The same if one way more also divides the entries: sets that do not always miss look like fewer ways.
  double whole_within_if_more_fit = 0.15;
  // Missed part of the pages if all sets overflow. Smaller values accept unequal sets as equal.
  double all_of_many = 0.97;
};

struct TlbSetsFound {
  std::vector<std::uint32_t> ways;  // one value per set, in the order of overflow; empty unless they add up
  std::string why;
};
// For a level that holds `entries` pages, with room for `max_pages`.
[[nodiscard]] TlbSetsFound find_tlb_sets(std::uint64_t entries, std::uint64_t max_pages, bool noisy,
                                         const MissedPagesCallback& missed_pages_of,
                                         const TlbSetsParameters& parameters = {});
// For a level with more than max_entries. Each page beyond makes one set and itself miss, which gives the ways; with
// as many more pages as there are sets then, all must miss.
[[nodiscard]] TlbSetsFound find_even_tlb_sets(const TlbReachFound& reach, std::uint64_t max_pages,
                                              const MissedPagesCallback& missed_pages_of,
                                              const TlbSetsParameters& parameters = {});

}  // namespace gputopo::probe
