// What jumps from block to block of code tell of instruction caches, from what a pass over ever more blocks takes. It
// shows caches that straight-line code hides, because what comes next is fetched ahead of it. Fooled by a cache whose
// sets are used unevenly, which seems to end early, and by two caches of about the same size.
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
  // The cost of a pass is where a line through passes of 2 to so many near jumps meets zero. More: a steadier line,
  // that may leave the nearest cache.
  std::uint32_t line_jumps = 8;
  // Its error is so many times the largest deviation of these passes from the line, over the root of their number.
  // Larger: wider intervals.
  double deviations = 3;
  // Code that a cache holds ends its level no sooner than at this part of the cache, and, of the size that its lines
  // tell, no later than at so many times. Nearer one: surer that the step is this cache's, and more that belong to
  // none.
  double least_part = 0.6;
  double most_times = 1.15;
  // Levels of near and of far jumps that differ by no more than this part are of one cache. Larger: those of two caches
  // are taken for one's.
  double same_level = 0.05;
  // The shortest line that there may be, where a cache's own is not known.
  double least_line_bytes = 32;
  // The last level ends where jumps over all the longer code take longer by this part, at so many counts: what serves
  // them need be no level. Smaller: noise ends it.
  double beyond_last = 0.2;
  std::size_t counts_beyond_last = 2;
  // Of what a level holds, the cache before it may still serve so many times what it was seen to hold.
  double times_nearer = 1.2;
  // Lines that the nearer caches may have: those which hold several of the blocks bring some of them along, so that not
  // every jump waits for the level. Larger: wider intervals where blocks are small.
  double longest_line_bytes = 256;
  // A level over fewer octaves may be a slope: of a cache that replaces at random, up to this part of its jumps the
  // next level may serve at any count. Larger: wider intervals.
  double narrow_octaves = 1;
  double served_behind = 0.15;
  // Blocks that follow one another closely show where a cache ends if a jump takes longer by this part behind it.
  // Smaller: noise and drift are taken for that.
  double least_rise = 0.05;
  // Parts of that rise between which the end lies: none misses yet, and nearly all that will. Further apart: wider
  // intervals.
  double first_part = 0.1;
  double last_part = 0.6;
  // The level behind is read off code of these parts of the next cache.
  double behind_from = 0.4;
  double behind_to = 0.8;
};

// One number for each count of jumps, ascending.
struct JumpCurve {
  std::vector<std::uint32_t> jumps;
  std::vector<double> footprints_bytes;  // of the blocks, what is jumped over included
  std::vector<double> cycles_per_jump;   // without what a pass costs in itself
  double block_bytes = 0;
  double run_bytes = 0;  // of a block
  double pass_error_cycles = 0;
  double loop_bytes = 0;  // that every pass runs besides, at most
  std::vector<stats::Plateau> levels;
};
// What a pass costs in itself, from passes of a few near jumps: the same for all jumps.
struct PassCost {
  double cycles = 0;
  double error_cycles = 0;  // half of an interval
};
[[nodiscard]] PassCost cost_of_pass(const std::vector<CodePasses>& near, const CodeJumpParameters& parameters = {});
// `lengths`: passes of so many jumps.
[[nodiscard]] JumpCurve read_jump_curve(const std::vector<CodePasses>& lengths, const PassCost& pass,
                                        double block_bytes, double run_bytes);

// A cache of code that is known otherwise.
struct KnownCodeCache {
  stats::Interval bytes;
  double line_bytes = 0;  // 0: not known
};

// The level of the curve of far jumps that each of these caches, nearest first, serves: where it ends, the curve has a
// step, and none of another cache may lie there. What serves the level must hold as much code without gaps, if near
// jumps show that.
[[nodiscard]] std::vector<Decision<std::size_t>> find_jump_levels(const JumpCurve& near, const JumpCurve& far,
                                                                  const std::vector<KnownCodeCache>& caches,
                                                                  const CodeJumpParameters& parameters = {});

// What a jump to code takes that this level serves: all of the plateau, with the error of the pass's cost, up to what
// it takes if the level before still serves as much as it was seen to hold, and down to what it takes if a narrow
// plateau is a slope; of the first level, to what few near jumps take.
struct JumpLatency {
  double cycles = 0;
  stats::Interval interval;
};
[[nodiscard]] JumpLatency latency_of_level(const JumpCurve& near, const JumpCurve& far, std::size_t level,
                                           const CodeJumpParameters& parameters = {});

// Whether a cache may lie before the one that serves this level of far jumps, though no level shows it: the fewest
// jumps are in none, or near ones are quicker.
[[nodiscard]] bool may_hide_nearer(const JumpCurve& near, const JumpCurve& far, std::size_t level,
                                   const CodeJumpParameters& parameters = {});

// How much the first level of both curves holds: no less than what runs of the far jumps that it serves, and no more
// than what near ones lie in when nearly all miss. `behind_bytes`: what the next cache holds at least.
struct NearestCode {
  double bytes = 0;
  stats::Interval interval;
};
[[nodiscard]] Decision<NearestCode> decide_nearest_code(const JumpCurve& near, const JumpCurve& far,
                                                        double behind_bytes, const CodeJumpParameters& parameters = {});

}  // namespace gputopo::probe
