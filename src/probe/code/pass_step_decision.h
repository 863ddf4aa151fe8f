// How much code the nearest instruction cache holds that straight-line code hides. What follows is fetched ahead, but
// each pass begins with a jump back: it waits once the beginning is in the cache no more. So the time of a pass, which
// grows in proportion to the code, has one step, as large as what a jump takes longer to the next cache. Fooled by
// whatever else costs a pass as much from some length on; by an index that is hashed, under which the sets of some
// beginnings overflow sooner.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "probe/bench/decision.h"
#include "probe/code/jumps_decision.h"
#include "probe/code/size_decision.h"

namespace gputopo::probe {

struct PassStepParameters {
  // All passes lie on two lines of one slope, to this part of the step between them or so many cycles. Larger: takes
  // gradual rises, as of replacement at random, for a step.
  double uneven_part = 0.15;
  double uneven_cycles = 0.75;
  // But for so many lengths at the step, none so many times as long as one that fits: what else a pass runs takes part
  // of the cache too, and not at every pass. Larger: takes replacement at random, whose rise is longer, for a step.
  std::size_t lengths_between = 4;
  double most_times = 1.5;
  // Lengths on either line, at least.
  std::size_t lengths_before = 3;
  std::size_t lengths_behind = 4;
  // Of the passes over one length, this part is left out at either end: noise; not what only some of them wait for.
  double trim = 0.15;
  // Jumps over so much far code, in parts of the next cache, wait for it. Less may be in the nearer one still.
  double of_next_from = 0.55;
  double of_next_to = 0.75;
  // The step is the jump's, between these parts of it, and no less than so many cycles. Further apart: more that is
  // something else.
  double least_part = 0.7;
  double most_part = 1.4;
  double least_cycles = 2;
};

struct PassStep {
  std::size_t last_before = 0;              // of the lengths: the mean of its passes shows no wait
  std::optional<std::size_t> last_without;  // of those the last of which no pass waits
  std::size_t first_behind = 0;
  double cycles = 0;
  double slope = 0;  // cycles of an instruction
};
// What a jump to the next cache, of so many bytes, takes longer: between the first two levels of the curve, and by what
// far blocks take that fill a good part of it, where lines that are longer than these leave no level.
[[nodiscard]] std::vector<double> longer_jumps(const JumpCurve& far, double next_bytes,
                                               const PassStepParameters& parameters = {});
// `lengths`: ascending, of which all fit in the next cache. `jump_cycles`: of which the step is one.
[[nodiscard]] Decision<PassStep> decide_pass_step(const std::vector<CodePasses>& lengths,
                                                  const std::vector<double>& jump_cycles,
                                                  const PassStepParameters& parameters = {});

// Whether passes over other code, of lengths just before the step and just behind it, show the same step.
[[nodiscard]] bool is_same_step(const PassStep& step, const CodePasses& before, const CodePasses& behind,
                                const PassStepParameters& parameters = {});

}  // namespace gputopo::probe
