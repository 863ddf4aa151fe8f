// The size of the nearest instruction cache, which straight-line code hides by prefetching. Each pass begins with a
// jump back, which waits once the beginning is no longer in the cache. The time of a pass, otherwise proportional to
// the code, therefore has one step, as large as the extra latency of a jump to the next cache. Other costs that begin
// at some length fool the method; so does a hashed index, under which the sets of some beginnings overflow sooner.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "probe/bench/decision.h"
#include "probe/code/jumps_decision.h"
#include "probe/code/size_decision.h"

namespace gputopo::probe {

struct PassStepParameters {
  // All passes must lie on two lines of equal slope, to within this part of the step or uneven_cycles. Larger values
  // take gradual rises, as of random replacement, for a step.
  double uneven_part = 0.15;
  double uneven_cycles = 0.75;
  // Lengths between the lines, the first behind at most `most_times` the last before: other code of a pass takes part
  // of the cache, not in every pass. Larger values take random replacement, whose rise is longer, for a step.
  std::size_t lengths_between = 4;
  double most_times = 1.5;
  // Fewest lengths on each line.
  std::size_t lengths_before = 3;
  std::size_t lengths_behind = 4;
  // Part of the passes of one length that is left out at either end: noise, but not what only some passes wait for.
  double trim = 0.15;
  // Far code of these parts of the next cache waits for it. Less may still be in the nearer cache.
  double of_next_from = 0.55;
  double of_next_to = 0.75;
  // Range of the step, as parts of the jump's extra latency, and its least cycles. A wider range accepts other causes.
  double least_part = 0.7;
  double most_part = 1.4;
  double least_cycles = 2;
};

struct PassStep {
  std::size_t last_before = 0;              // index of the last length whose mean shows no wait
  std::optional<std::size_t> last_without;  // of these, the last in which no pass waits
  std::size_t first_behind = 0;
  double cycles = 0;
  double slope = 0;  // cycles per instruction
};
// Extra latencies of a jump to the next cache, of next_bytes: between the first two levels of the curve, and of far
// blocks that fill a good part of it, because lines longer than the blocks leave no second level.
[[nodiscard]] std::vector<double> longer_jumps(const JumpCurve& far, double next_bytes,
                                               const PassStepParameters& parameters = {});
// `lengths` ascend, and all fit in the next cache. `jump_cycles`: candidates for the step.
[[nodiscard]] Decision<PassStep> decide_pass_step(const std::vector<CodePasses>& lengths,
                                                  const std::vector<double>& jump_cycles,
                                                  const PassStepParameters& parameters = {});

// Whether passes over other code, of lengths just before and just behind the step, show the same step.
[[nodiscard]] bool is_same_step(const PassStep& step, const CodePasses& before, const CodePasses& behind,
                                const PassStepParameters& parameters = {});

}  // namespace gputopo::probe
