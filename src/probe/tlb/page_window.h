// A window of page tables: only so much memory is translated at a time, and a load from elsewhere waits until the
// window has moved (Mei et al. 2014, section 4.2: 512 MB on Kepler). It looks like a TLB with one entry.
//
// The test uses so many pages that the TLBs before it miss. A TLB with two or more entries serves loads from two
// places in turns; a window serves only loads that stay in one place.
//
// Lines that do not stay in L2 would fool it; they are as few as in the survey, and the same in both orders.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probe/tlb/walk.h"

namespace gputopo::probe {

struct PageWindow {
  std::uint64_t bytes = 0;  // 0: not known
  double miss_cycles = 0;   // cost of a load outside of the window
};

struct PageWindowParameters {
  // Part of the level's miss cost. Loads in turns that wait this much longer than the same loads place by place lie in
  // two windows. Larger values overlook a window that only some loads leave; smaller values accept noise.
  double of_miss = 0.5;
  // The same in cycles: histogram bins alone can cause smaller differences.
  double least_cycles = 4;
  // Pages of each place per entry of the nearer level: the two places together miss it, whatever its sets.
  double of_entries = 1;
  // Pages that are timed one after the other. More pages show larger windows.
  std::uint32_t timed_pages = 1024;
  std::uint32_t passes = 5;  // the median counts
};

// The window size in pages, if loads above `limit_cycles` are equally far apart; 0 if they are not, or fewer than two
// show. `cycles[i]`: latency of a load of page i right after one of the page before.
[[nodiscard]] std::uint64_t window_pages(const std::vector<double>& cycles, double limit_cycles);

// The window, if the level behind `nearer` is one. `miss_cycles`: the cost of that level's misses.
[[nodiscard]] std::optional<PageWindow> find_page_window(const PageChaser& page_chaser, const NearerTlb& nearer,
                                                         double miss_cycles);

}  // namespace gputopo::probe
