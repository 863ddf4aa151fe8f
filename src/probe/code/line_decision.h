// The line of an instruction cache, from passes over code slightly longer than the cache that begins earlier and
// earlier: the time rises in stairs a line apart. Other code of a pass, which begins to miss at one length, fools the
// method, so stairs count only if several lengths show them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct CodeLineParameters {
  // Largest missed part of code that is one block too long. If more misses, all sets overflow before the code is two
  // blocks too long, and a stair shows at one length only, so that stairs look a block apart. At that limit one block
  // too many overflows half of the sets, and slightly more than half of the code misses.
  double max_missing = 0.64;
  // Missed part above which the edge is short enough to be measured as a whole. Larger values do so less often.
  double short_edge = 0.4;
  // Quantile over the lengths that gives the height of a stair, which must show at several. Larger values accept
  // stairs of one length; smaller values miss stairs of caches with few sets.
  double several_lengths = 0.75;
  // The same for stairs as far apart as the lengths, whose stairs could look like one row: half must show them.
  double half_of_lengths = 0.5;
  // Part of the periods in which the stair must be the highest step.
  double always = 0.9;
  // Part of a stair's height above which another step is about as high.
  double about_as_high = 0.5;
  // The same for a single step as high as a stair, which `always` of the periods must not have between stairs. Larger
  // values accept a row of every second line under a hashed index; smaller values take noise for stairs.
  double as_high = 0.8;
  // Part of the steps that must not fall by more than `fall` of a stair's height: code that begins earlier takes
  // longer, or misses are random. Larger values of `fall` accept more noise as stairs.
  double most_steps = 0.9;
  double fall = 0.5;
  // Every second stair is lower if the highest of them is below this part of the lowest other, with least_of_each.
  // Larger values doubt more lines; smaller values take the cost of half a line for stairs.
  double lower = 0.9;
  std::size_t least_of_each = 3;
  // Also if ranks separate the two rows by this many standard deviations (Mann-Whitney; 1.96: one in twenty by
  // chance), with `least_ranked` stairs each and one median below `lower_median` of the other. Fewer deviations or a
  // larger part doubt more lines.
  double rank_deviations = 1.96;
  std::size_t least_ranked = 6;
  double lower_median = 0.95;
  // Steps midway between stairs are lower stairs if they exceed all other steps and their median is at least this part
  // of the stairs'. Smaller values doubt more lines.
  double between_part = 0.25;
  // Part of a miss by which a stair must exceed the cost of nearer caches' lines. Larger values reject low stairs.
  double own_part = 0.5;
  // Fewest stairs within the steps. Larger values are surer but find only shorter lines.
  std::size_t least_stairs = 4;
};

// By how much each step exceeds its neighbors. `cycles`: of passes that begin one step earlier each. The first two
// times and the last have no such neighbors.
[[nodiscard]] std::vector<double> staircase_heights(std::span<const double> cycles);

// The place of the stair in each period, with none between. Heights differ, because other lines of a set miss too.
[[nodiscard]] std::optional<std::size_t> staircase_phase(std::span<const double> stairs, std::size_t period,
                                                         const CodeLineParameters& parameters = {});
// Whether every second of these stairs is lower than the others.
[[nodiscard]] bool stairs_alternate(std::span<const double> stairs, std::size_t period, std::size_t place,
                                    const CodeLineParameters& parameters = {});

// The distance of stairs.
struct StaircasePeriod {
  std::size_t steps = 0;  // a power of two
  // Every second is lower, or lower ones lie between: lines may be twice or half as long.
  bool alternates = false;
  double height = 0;  // median, in cycles of a pass
};
// `lengths`: times of each length, one step earlier each. `block_period`: steps of the blocks by which lengths differ.
[[nodiscard]] Decision<StaircasePeriod> decide_staircase_period(const std::vector<std::vector<double>>& lengths,
                                                                std::size_t block_period,
                                                                const CodeLineParameters& parameters = {});

// Whether stairs of this height are those of the cache whose misses take `miss_cycles` an instruction. Each of its
// lines costs a miss besides its instructions, but wherever lines of nearer caches begin, these make stairs of their
// own at every length. `nearest_cycles`: of an instruction in the nearest cache.
[[nodiscard]] bool is_own_staircase(double height, double line_instructions, double nearest_cycles, double hit_cycles,
                                    double miss_cycles, const CodeLineParameters& parameters = {});

// A line is a power of two, though instructions may not be.
[[nodiscard]] std::int64_t line_of_period(std::size_t period, std::uint32_t step_instructions,
                                          double bytes_per_instruction);

}  // namespace gputopo::probe
