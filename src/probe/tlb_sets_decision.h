// The ways of each set of a level of TLB, from how many more pages miss with each page beyond its reach: the set that
// it falls into, all of whose pages miss then. What fools it is replacement other than of the oldest, a hashed choice
// of sets and pages of something else: then they do not add up to the entries, and nothing is told. Of sets of one
// way the last two look like one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/tlb_reach_decision.h"

namespace gputopo::probe {

struct TlbSetsParameters {
  // More entries are not looked at: each page beyond is a walk over all.
  std::uint64_t max_entries = 512;
  // Pages beyond that are tried, one for each set.
  std::uint64_t max_sets = 64;
  // Part of the pages that misses where all do, of a noisy level: there is one set. Larger: two sets may be one.
  double nearly_all = 0.8;
};

struct TlbSetsFound {
  std::vector<std::uint32_t> ways;  // of each set, in the order in which they overflow; empty unless they add up
  std::string why;
};
// Of a level that holds `entries` pages; `max_pages` is what there is room for.
[[nodiscard]] TlbSetsFound find_tlb_sets(std::uint64_t entries, std::uint64_t max_pages, bool noisy,
                                         const MissedPagesOf& missed_pages_of,
                                         const TlbSetsParameters& parameters = {});

}  // namespace gputopo::probe
