// The line of an instruction cache, from what a pass takes as code that is a little more than the cache holds begins
// earlier and earlier: it rises in stairs a line apart. Fooled by anything else that a pass runs, which begins to miss
// at one length, so that stairs count only where several lengths show them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct CodeLineParameters {
  // Part of the code, one block too long, that may miss. Where more does all sets overflow before the code is two
  // blocks too long; then a stair shows at one length only, which makes stairs look a block apart. With one block too
  // much, half of the sets do then, and a little more than half of the code misses.
  double max_missing = 0.64;
  // And the part from which on the edge is so short that it may be looked at whole. Larger looks less often.
  double short_edge = 0.4;
  // Quantile over the lengths that a stair is as high as: it must show at several. Larger lets stairs of one length
  // through; smaller misses those of caches of few sets.
  double several_lengths = 0.75;
  // The same for stairs that are as far apart as lengths are: at half of them, or those of different lengths might look
  // like one row.
  double half_of_lengths = 0.5;
  // Part of the periods whose highest step must be the stair.
  double always = 0.9;
  // Part of a stair's height from which on another step is about as high.
  double about_as_high = 0.5;
  // And from which on it is as high, so that there are stairs between: always but for as few as `always` lets through.
  // Larger takes a row of every second line, where an index is hashed; smaller takes noise for stairs.
  double as_high = 0.8;
  // Of the steps so many take no less than the one before, but for a part of a stair's height: code that begins earlier
  // takes longer, and where it does not, what misses is by chance. Larger takes more noise for stairs.
  double most_steps = 0.9;
  double fall = 0.5;
  // Every second stair is lower where the highest of them has no more than this part of the lowest other, of so many of
  // each. Larger doubts more; smaller takes what halves of a line cost for stairs of their own.
  double lower = 0.9;
  std::size_t least_of_each = 3;
  // Or where ranks tell both rows apart by so many standard deviations (Mann-Whitney; 1.96: one time in twenty by
  // chance), of at least so many stairs each, and the median of one is below this part of the other's. Smaller
  // deviations or a larger part: more is doubted.
  double rank_deviations = 1.96;
  std::size_t least_ranked = 6;
  double lower_median = 0.95;
  // What is midway between stairs is lower stairs where it is higher than all other steps, and its median no less than
  // this part of theirs. Smaller: more is doubted.
  double between_part = 0.25;
  // A stair is higher than what lines of nearer caches cost by this part of one miss. Larger refuses low stairs.
  double own_part = 0.5;
  // Stairs that must have room in the steps. More: surer, and only shorter lines are seen.
  std::size_t least_stairs = 4;
};

// From the times of a pass, each a step earlier begun: what each step takes longer than its neighbours make it. The
// first two times and the last have no such neighbours.
[[nodiscard]] std::vector<double> stairs_of(std::span<const double> cycles);

// Where in each period there is a stair, and none between. How high they are differs: what else lies in a set misses
// too.
[[nodiscard]] std::optional<std::size_t> place_of_stairs(std::span<const double> stairs, std::size_t period,
                                                         const CodeLineParameters& parameters = {});
// Whether every second of these stairs is lower than the others.
[[nodiscard]] bool stairs_alternate(std::span<const double> stairs, std::size_t period, std::size_t place,
                                    const CodeLineParameters& parameters = {});

// How far stairs are apart.
struct StairPeriod {
  std::size_t steps = 0;  // a power of two
  // Every second is lower, or there are lower ones between: lines may be twice or half as long.
  bool alternates = false;
  double height = 0;  // cycles of a pass, median
};
// The times of each length, each a step earlier begun. `block_period`: steps of the blocks that lengths differ by.
[[nodiscard]] Decision<StairPeriod> decide_stair_period(const std::vector<std::vector<double>>& lengths,
                                                        std::size_t block_period,
                                                        const CodeLineParameters& parameters = {});

// Whether stairs so high are those of the cache whose misses take `miss_cycles` an instruction: a line of it costs a
// miss besides what its instructions cost wherever lines of the caches before it begin, which makes stairs of their own
// at every length. `nearest_cycles`: of an instruction that the nearest cache holds.
[[nodiscard]] bool are_own_stairs(double height, double line_instructions, double nearest_cycles, double hit_cycles,
                                  double miss_cycles, const CodeLineParameters& parameters = {});

// A line is a power of two, though instructions may not be.
[[nodiscard]] std::int64_t line_of_period(std::size_t period, std::uint32_t step_instructions,
                                          double bytes_per_instruction);

}  // namespace gputopo::probe
