// Instruction caches, from passes that jump through growing numbers of blocks of code. Jumps show caches that
// straight-line code hides by prefetching. A cache with unevenly used sets, which seems to end early, fools the
// method, and so do two caches of similar size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probe/bench/decision.h"
#include "probe/code/size_decision.h"
#include "stats/descriptive.h"
#include "stats/plateaus.h"

namespace gputopo::probe {

struct CodeJumpParameters {
  // The overhead of a pass is where a line through passes of 2 to this many near jumps meets zero. Larger values give
  // a steadier line, which may exceed the nearest cache.
  std::uint32_t line_jumps = 8;
  // Its error is their largest deviation times this, over the root of their number. Larger values widen intervals.
  double deviations = 3;
  // The level of a cache ends no sooner than at `least_part` of its size, and no later than at `most_times` the size
  // that its lines allow. Values near 1 make it surer that the step is this cache's, but reject more steps.
  double least_part = 0.6;
  double most_times = 1.15;
  // Levels of near and far jumps within this part are of one cache. Larger values merge the levels of two caches.
  double same_level = 0.05;
  // Shortest line if that of the cache is not known.
  double least_line_bytes = 32;
  // The last level ends if all longer code takes longer by this part, at this many counts: memory need not form a
  // level. Smaller values let noise end it.
  double beyond_last = 0.2;
  std::size_t counts_beyond_last = 2;
  // Part of a level that the nearer cache may still serve, as a multiple of the size it showed.
  double times_nearer = 1.2;
  // Longest lines of nearer caches: a line that holds several blocks brings some along, so that not every jump waits
  // for the level. Larger values widen intervals for small blocks.
  double longest_line_bytes = 256;
  // A level of fewer octaves may be a slope: with random replacement, the next level may serve up to served_behind of
  // the jumps at any count. Larger values widen intervals.
  double narrow_octaves = 1;
  double served_behind = 0.15;
  // Least relative rise of a near jump behind the cache that shows its end. Smaller values accept noise and drift.
  double least_rise = 0.05;
  // Parts of that rise between which the cache ends: no misses yet, nearly all. A wider range widens intervals.
  double first_part = 0.1;
  double last_part = 0.6;
  // The level behind is measured on code of these parts of the next cache.
  double behind_from = 0.4;
  double behind_to = 0.8;
};

// One value per count of jumps, ascending.
struct JumpCurve {
  std::vector<std::uint32_t> jumps;
  std::vector<double> footprints_bytes;  // of all blocks, with what is jumped over
  std::vector<double> cycles_per_jump;   // without the overhead of a pass
  double block_bytes = 0;
  double run_bytes = 0;  // executed bytes of a block
  double pass_error_cycles = 0;
  double loop_bytes = 0;  // upper limit of other code in every pass
  std::vector<stats::Plateau> levels;
};
// Overhead of a pass, from passes of a few near jumps; the same for all jumps.
struct PassCost {
  double cycles = 0;
  double error_cycles = 0;  // half of an interval
};
[[nodiscard]] PassCost cost_of_pass(const std::vector<CodePasses>& near, const CodeJumpParameters& parameters = {});
// `lengths`: counts of jumps in place of instructions.
[[nodiscard]] JumpCurve read_jump_curve(const std::vector<CodePasses>& lengths, const PassCost& pass,
                                        double block_bytes, double run_bytes);

// An instruction cache known from other methods.
struct KnownCodeCache {
  stats::Interval bytes;
  double line_bytes = 0;  // 0: not known
};

// The level of the far-jump curve that each of these caches serves, nearest first: the curve has a step where it ends,
// and no other cache may end there. What serves it must hold as much gapless code, if near jumps show that.
[[nodiscard]] std::vector<Decision<std::size_t>> find_jump_levels(const JumpCurve& near, const JumpCurve& far,
                                                                  const std::vector<KnownCodeCache>& caches,
                                                                  const CodeJumpParameters& parameters = {});

// Latency of a jump to code that this level serves. The interval covers the plateau with the error of the overhead.
// Its high end allows for the level before to serve what it was seen to hold, its low end for a narrow plateau to be a
// slope or, at the first level, for the latency of few near jumps.
struct JumpLatency {
  double cycles = 0;
  stats::Interval interval;
};
[[nodiscard]] JumpLatency latency_of_level(const JumpCurve& near, const JumpCurve& far, std::size_t level,
                                           const CodeJumpParameters& parameters = {});

// Whether an unseen cache may lie before this far-jump level: the fewest jumps are in no level, or near ones faster.
[[nodiscard]] bool may_hide_nearer(const JumpCurve& near, const JumpCurve& far, std::size_t level,
                                   const CodeJumpParameters& parameters = {});

// Size of the first level of both curves: from the executed bytes of its far jumps to the span of near jumps when
// nearly all miss. `behind_bytes`: the least that the next cache holds.
struct NearestCode {
  double bytes = 0;
  stats::Interval interval;
};
[[nodiscard]] Decision<NearestCode> decide_nearest_code(const JumpCurve& near, const JumpCurve& far,
                                                        double behind_bytes, const CodeJumpParameters& parameters = {});

}  // namespace gputopo::probe
