// A window of page tables: so much memory is translated at a time, and a load from elsewhere waits until the window has
// moved (Mei et al. 2014, section 4.2: 512 MB on Kepler). It looks like a TLB of one entry.
//
// It is asked for translations that the TLBs before it do not hold, so the pages are so many that these miss. A TLB of
// two entries and more serves loads from two places in turns; a window serves only those that stay in one.
//
// What fools it: lines that do not stay in L2. They are as few as the survey has, and the same in both orders.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probe/tlb/walk.h"

namespace gputopo::probe {

struct PageWindow {
  std::uint64_t bytes = 0;  // 0: not known
  double miss_cycles = 0;   // of a load that is outside
};

struct PageWindowParameters {
  // Of what a miss of the level costs: loads in turns that wait so much longer than the same loads place by place are
  // in two windows. Larger: a window that only some of them leave is none; smaller: noise is one.
  double of_miss = 0.5;
  // And in cycles: what the bins of histograms make of none.
  double least_cycles = 4;
  // Of each place, times the entries of the level before: so that the two places together miss it, whatever its sets.
  double of_entries = 1;
  // Pages that are timed one after the other. More: larger windows show.
  std::uint32_t timed_pages = 1024;
  std::uint32_t passes = 5;  // of which the median counts
};

// `cycles[i]`: what a load of page i takes behind one of the page before. The size of a window in pages, where loads
// that take longer than `limit_cycles` are as far apart each time; 0 where they are not, or fewer than two show.
[[nodiscard]] std::uint64_t window_pages(const std::vector<double>& cycles, double limit_cycles);

// Whether the level behind `nearer`, whose misses cost so much, is one.
[[nodiscard]] std::optional<PageWindow> find_page_window(const PageWalker& walker, const NearerTlb& nearer,
                                                         double miss_cycles);

}  // namespace gputopo::probe
