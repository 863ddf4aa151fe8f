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
  // Part of the loads beyond a step that is slow for other reasons. Larger: levels that hardly any load misses are
  // none; smaller: noise is misses of the cache behind.
  double few_slow = 0.1;
  // Where a miss costs little, lines that differ make a good part of either kind of load slow, and it differs from
  // sweep to sweep how many; but as many fast. So there the mean counts: what the other lines wait is no more than this
  // part of what the pages do, or it is the cache that misses. Larger: misses of the cache are a level's; smaller:
  // noise.
  double companions_wait = 0.25;
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

// Of what slow loads wait for their translations at ascending reaches, nearest first.
[[nodiscard]] std::vector<TlbRise> find_tlb_rises(const std::vector<double>& slow_cycles,
                                                  const TlbStepParameters& parameters = {});

// Well beyond a step, the part of the loads that are slow, and of loads of another line of the same page that follow
// them, which only misses of the cache behind delay.
struct SlowBeyond {
  double pages = 1;
  double companions = 0;
  double pages_wait_cycles = 1;  // in the mean, more than loads that do not miss the level
  double companions_wait_cycles = 1;
};
enum class StepIs : std::uint8_t {
  kLevel,
  kPassing,      // at twice the reach a level would show all the more: lines of a few points met in the cache
  kCacheMisses,  // lines do not stay in the cache: what misses there looks like a level
};
// `noisy`: noise alone makes loads slow, `false_part` of them.
[[nodiscard]] StepIs judge_step(const SlowBeyond& slow, double false_part, bool noisy,
                                const TlbStepParameters& parameters = {});

}  // namespace gputopo::probe
