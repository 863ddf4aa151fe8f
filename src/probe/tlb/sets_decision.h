// The ways of each set of a level of TLB, from how many more pages miss with each page beyond its reach: the set that
// it falls into, all of whose pages miss then. What fools it is replacement other than of the oldest, a hashed choice
// of sets and pages of something else: then they do not add up to the entries, and nothing is told. Of sets of one
// way the last two look like one. Of many entries sets that are alike are told by the line along which misses grow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/tlb/reach_decision.h"

namespace gputopo::probe {

struct TlbSetsParameters {
  // More entries are not looked at: each page beyond is a walk over all.
  std::uint64_t max_entries = 512;
  // Pages beyond that are tried, one for each set.
  std::uint64_t max_sets = 64;
  // Part of the pages that misses where all do, of a noisy level: there is one set. Larger: two sets may be one.
  double nearly_all = 0.8;
  // How far what more pages miss with each page beyond may be from a whole number, its own error with it. Half: one way
  // more or less; smaller: nothing is told of levels among noise. On H200s a set with one page too many does not always
  // miss: 0.35.
  double whole_within = 0.45;
  // The same where one way more would divide the entries as well: sets that do not always miss look like fewer ways.
  double whole_within_if_more_fit = 0.15;
  // Part of the pages that misses where all sets overflow. Smaller: sets that are not alike are.
  double all_of_many = 0.97;
};

struct TlbSetsFound {
  std::vector<std::uint32_t> ways;  // of each set, in the order in which they overflow; empty unless they add up
  std::string why;
};
// Of a level that holds `entries` pages; `max_pages` is what there is room for.
[[nodiscard]] TlbSetsFound find_tlb_sets(std::uint64_t entries, std::uint64_t max_pages, bool noisy,
                                         const MissedPagesOf& missed_pages_of,
                                         const TlbSetsParameters& parameters = {});
// Of a level of more than max_entries: where each page beyond makes a set and that page miss, there are so many ways,
// and where as many pages more are loaded as there are sets then, all miss.
[[nodiscard]] TlbSetsFound find_even_tlb_sets(const TlbReachFound& reach, std::uint64_t max_pages,
                                              const MissedPagesOf& missed_pages_of,
                                              const TlbSetsParameters& parameters = {});

}  // namespace gputopo::probe
