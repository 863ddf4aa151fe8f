// TLBs: the levels of address translation that a chase over ever more pages shows. What fools it is a cache behind the
// translation that does not keep the lines, whose misses look like those of a TLB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probe/survey/site.h"
#include "probe/tlb/page_order.h"
#include "probe/tlb/page_window.h"
#include "probe/tlb/penalty_decision.h"

namespace gputopo::probe {

// One level of TLB, as loads that hit the cache behind the translation show it.
struct TlbLevel {
  stats::Interval reach_bytes;        // the last reach without misses, and the first with
  double last_fit_bytes = 0;          // what reach_bytes is about
  double miss_cycles = 0;             // what a miss here adds to a load
  double swept_miss_cycles = 0;       // the same by the sweep's step alone
  double miss_error = 0;              // of that, as a part of it: noise of the lines that were walked
  std::optional<TlbPenalty> penalty;  // of a miss, measured on the same lines with and without
  std::string unsure_reach;           // set: why the reach is not told
  std::string unsure_penalty;         // set: why miss_cycles is not told, where there is no penalty
  std::uint64_t entry_bytes = 0;      // that one entry covers; 0 where it was not resolved
  std::vector<std::uint32_t> sets;    // ways of each set, as misses beyond the reach show them; empty where they do not
  std::string no_sets;                // why they do not
};

struct TlbSurvey {
  std::vector<TlbLevel> levels;      // nearest first
  std::optional<PageWindow> window;  // set: the last level is none, but a window of page tables
  std::string unsure;                // set: why what follows them is not told
  std::uint64_t largest_bytes = 0;   // the largest reach that was tried
  std::uint64_t memory_bytes = 0;    // that the device has, free or not; 0 where that is not known
  std::uint64_t most_pages = 0;      // that were loaded at once
  bool spreads_lines = false;        // over all of the pages (walk.h)
  bool lines_differ = false;         // by more than a miss costs, so that nothing is told, of other lines neither
  bool is_limited = false;           // no array of the space can be larger than largest_bytes
  SampleTable sweep;                 // reach_bytes, stride_bytes, added_cycles (mean)
  Conditions conditions;
};

// Sweeps the reach up to what memory allows. `site`: a space that misses L1 on every load, so that all are translated;
// or textures, of which so many lines are loaded that the SM's own cache holds none of them (rounds.h).
[[nodiscard]] TlbSurvey survey_tlbs(Lab& lab, const Site& site);

// The level before the one at `depth` (0: nearest).
[[nodiscard]] NearerTlb nearer_tlb(const TlbSurvey& survey, std::size_t depth);

}  // namespace gputopo::probe
