// The steps of a sweep over pages: each TLB level adds its misses to the loads of all larger reaches. Lines that
// conflict in the cache behind the TLB fool the method with rises of their own; those that go back are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stats/histogram.h"

namespace gputopo::probe {

struct TlbStepParameters {
  // Least rise of a step (cycles). Kepler's cheapest miss costs 6 cycles. Larger values miss cheap levels; smaller
  // values take ripples of the cache behind for levels.
  double least_rise_cycles = 3;
  // Least rise in robust deviations of the differences between neighboring points, most of which span no step.
  double least_rise_deviations = 6;
};

struct LinesStayParameters {
  // Quantile of the pairs that is compared. It leaves out the lines that meet a new page, but not the half of the
  // pairs that misses if one cache line holds two of them.
  double quantile = 0.8;
  // Cycles by which it may exceed that of lines that surely stay. Larger values do not separate near and far parts of
  // L2 that hardly differ; smaller values take noise for misses.
  double differs_by = 4;
};

// Whether adjacent lines stay in the cache: first loads of pairs take no longer than over lines that surely stay.
[[nodiscard]] bool stay_in_cache(const stats::Histogram& paired, const stats::Histogram& quiet,
                                 const LinesStayParameters& parameters = {});

// The points between which the latency rises, and the rise.
struct TlbRise {
  std::size_t last_before = 0;
  std::size_t first_after = 0;
  double before_cycles = 0;  // at the points before
  double rise_cycles = 0;
};

struct FallBackParameters {
  // Part of a level's rise by which loads drop at larger reaches. Larger values take one level for several; smaller
  // values let noise end the survey.
  double part = 0.35;
};

// Whether loads dropped below the cost of misses of the previous level, whose rise is `last`. If L2 keeps few lines,
// the pages of the sweep become farther apart than entries and fewer than them again: the same level rises anew.
[[nodiscard]] bool has_fallen_back(const TlbRise& rise, const TlbRise& last, const FallBackParameters& parameters = {});

// A level's rise that began with `passing`, the previous rise, which was no level. Unless loads dropped in between, as
// above, misses of the level replace what the loads waited for at `passing`.
[[nodiscard]] TlbRise with_passing(const TlbRise& rise, const TlbRise& passing,
                                   const FallBackParameters& parameters = {});

// Rises of the slow loads' translation delay at ascending reaches, nearest level first.
[[nodiscard]] std::vector<TlbRise> find_tlb_rises(const std::vector<double>& slow_cycles,
                                                  const TlbStepParameters& parameters = {});

}  // namespace gputopo::probe
