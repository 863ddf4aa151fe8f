// The steps of a sweep over pages: each level of TLB adds its misses to the loads of all larger reaches. What fools it
// is a rise that is no level's: lines that meet in the cache behind the translation. Those that go back are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stats/histogram.h"

namespace gputopo::probe {

struct TlbStepParameters {
  // A step rises by more. Kepler's cheapest miss costs 6 cycles. Larger: cheap levels are overlooked; smaller: ripples
  // of the cache behind become levels.
  double least_rise_cycles = 3;
  // And by more than so many robust deviations of neighbouring points, most of which have no step between them.
  double least_rise_deviations = 6;
};

struct LinesStayParameters {
  // What this part of the pairs stays below: all but the lines that meet a new page, and half of lines of which two
  // pairs are one.
  double quantile = 0.8;
  // Cycles that it may differ by from that of lines which surely stay. Larger: near and far parts of L2 that hardly
  // differ are alike; smaller: noise.
  double differs_by = 4;
};

// Whether neighbouring lines stay in the cache: the first load of a pair takes no longer than of lines that surely do.
[[nodiscard]] bool stay_in_cache(const stats::Histogram& paired, const stats::Histogram& quiet,
                                 const LinesStayParameters& parameters = {});

// The points between which the latency rises, and by how much.
struct TlbRise {
  std::size_t last_before = 0;
  std::size_t first_after = 0;
  double before_cycles = 0;  // of the points before
  double rise_cycles = 0;
};

struct FallBackParameters {
  // Part of a level's rise that loads of farther pages do not wait any more. Larger: one level is taken for several;
  // smaller: noise ends the survey.
  double part = 0.35;
};

// Whether loads went back below what misses of the level before cost, whose rise `last` is. Where L2 keeps few lines
// the pages of the sweep come to be farther apart than entries, and are fewer than these again: the same level rises
// anew.
[[nodiscard]] bool has_fallen_back(const TlbRise& rise, const TlbRise& last, const FallBackParameters& parameters = {});

// A level's rise that began as `passing`, the one before it, which was no level's: unless loads went back in between,
// as above, misses of the level take the place of what loads waited for there.
[[nodiscard]] TlbRise with_passing(const TlbRise& rise, const TlbRise& passing,
                                   const FallBackParameters& parameters = {});

// Of what slow loads wait for their translations at ascending reaches, nearest first.
[[nodiscard]] std::vector<TlbRise> find_tlb_rises(const std::vector<double>& slow_cycles,
                                                  const TlbStepParameters& parameters = {});

}  // namespace gputopo::probe
