// TLBs: the levels of address translation that a pointer chase over growing numbers of pages shows. A cache behind the
// TLB that does not keep the lines fools the method: its misses look like those of a TLB.
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

// One TLB level, as seen by loads that hit the cache behind it.
struct TlbLevel {
  stats::Interval reach_bytes;        // the last reach without misses, and the first with
  double last_fit_bytes = 0;          // best estimate within reach_bytes
  double miss_cycles = 0;             // cost of a miss here
  double swept_miss_cycles = 0;       // the same from the sweep's step alone
  double miss_error = 0;              // relative error of miss_cycles from noise of the walked lines
  std::optional<TlbPenalty> penalty;  // cost of a miss, measured on the same lines with and without
  std::string unsure_reach;           // set: why the reach is not reported
  std::string unsure_penalty;         // set: why miss_cycles is not reported if there is no penalty
  std::uint64_t entry_bytes = 0;      // bytes that one entry covers; 0 if not resolved
  std::vector<std::uint32_t> sets;    // ways of each set, from misses beyond the reach; empty if not found
  std::string no_sets;                // why `sets` is empty
  bool is_behind_larger = false;      // the nearer level has as many entries as this one
};

struct TlbSurvey {
  std::vector<TlbLevel> levels;      // nearest first
  std::optional<PageWindow> window;  // set: the last level is not a TLB but a window of page tables
  std::string unsure;                // set: why the levels after these are not reported
  std::uint64_t largest_bytes = 0;   // the largest reach that was tried
  std::uint64_t memory_bytes = 0;    // memory of the device, free or not; 0 if not known
  std::uint64_t most_pages = 0;      // most pages loaded at once
  bool spreads_lines = false;        // lines are spread over their whole pages (walk.h)
  bool lines_differ = false;         // lines differ by more than a miss costs, so that no choice of lines is conclusive
  bool is_limited = false;           // no array of the space can be larger than largest_bytes
  SampleTable sweep;                 // reach_bytes, stride_bytes, added_cycles (mean)
  Conditions conditions;
};

// Sweeps the reach up to the memory limit. `site`: a space that misses L1 on every load, so that every load is
// translated; or textures, with so many lines that the SM's own cache holds none of them (rounds.h).
[[nodiscard]] TlbSurvey survey_tlbs(ProbeRunner& runner, const Site& site);

// The level before the one at `depth` (0: nearest).
[[nodiscard]] NearerTlb nearer_tlb(const TlbSurvey& survey, std::size_t depth);

}  // namespace gputopo::probe
