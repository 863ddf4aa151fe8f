// The cache of constants whose address stands in the instruction, from passes over growing numbers of operations on
// constants. Lines longer than the distance of the operands fool the method, because misses end in stairs, and so do
// unevenly used sets, which overflow early: the interval is wide then.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"
#include "stats/plateaus.h"

namespace gputopo::probe {

struct OperandParameters {
  // The overhead of a pass and the cost of an operation come from passes of up to this many close operands.
  std::uint32_t line_operands = 16;
  // Least relative rise of an operation behind the nearest cache. Smaller values mistake instruction misses for it.
  double least_rise = 0.1;
  // A pass misses if it takes longer by this part of a miss, and by times_noise times the differences of passes
  // without misses. Smaller values let noise end the cache early.
  double least_miss = 0.7;
  double times_noise = 3;
  // Missed part that counts as nearly all. Larger values widen intervals.
  double most_miss = 0.6;
  // Nor do all miss before a stall: stall_operands further ones, more than the longest line has, that add less than
  // `stall` of their misses, up to stall_times the count. Fewer operands, a larger part or more times widen intervals.
  std::uint32_t stall_operands = 6;
  double stall = 0.35;
  double stall_times = 3;
  // If a set replaces its oldest line, each line too many makes a whole set miss: sets and ways determine the misses
  // of all counts up to where all miss, to within this part and half a miss. Larger values admit several solutions.
  double follows = 0.08;
  // Counts that must miss in part to identify one cache if a pass has two lines of its own. Fewer also explain sets
  // that are used unevenly.
  std::size_t least_partly_missing = 3;
  // Operands that share a miss, 2 or 4, make stairs. A number explains the growth if its residual is below this part
  // of the others'. Larger values decide more cases.
  double clearly = 0.4;
};

// Cycles of passes over this many operands, apart and close.
struct OperandPasses {
  std::uint32_t operands = 0;
  double apart_cycles = 0;
  double close_cycles = 0;
};

struct OperandCurve {
  std::vector<double> footprints_bytes;      // span of the apart operands, ascending
  std::vector<double> cycles_per_operation;  // on apart operands, without the overhead of a pass
  std::vector<double> added_cycles;          // extra cycles of a pass with apart operands
  std::vector<stats::Plateau> levels;
};
[[nodiscard]] OperandCurve read_operand_curve(const std::vector<OperandPasses>& passes,
                                              const OperandParameters& parameters = {});

// Counts of operands between which the nearest cache ends, for closer examination. Nothing if no step shows.
struct OperandEdge {
  std::uint32_t last_that_fits = 0;
  std::uint32_t first_that_all_miss = 0;
};
[[nodiscard]] Decision<OperandEdge> find_operand_edge(const OperandCurve& curve,
                                                      const OperandParameters& parameters = {});

struct OperandCache {
  std::uint32_t fits = 0;  // most operands without a miss, each in its own kApartOperandBytes
  double bytes = 0;
  stats::Interval interval;
  double hit_cycles = 0;    // cost of an operation
  double added_cycles = 0;  // cost of each further operand if all miss
  stats::Interval added;
  // Known if one shape of sets that replace their oldest line explains the misses; else 0.
  std::uint32_t line_bytes = 0;
  std::uint32_t ways = 0;
  std::uint32_t own_lines = 0;  // lines of a pass besides its operands
};
// `curve` must have every count around the edge.
[[nodiscard]] Decision<OperandCache> decide_operand_cache(const OperandCurve& curve,
                                                          const OperandParameters& parameters = {});

// Whether lines are at least as long as the distance of the operands: twice as many near operands, in as many bytes as
// the cache holds, take `near_cycles`, and as many close ones `close_cycles`. If the near ones miss, the cache does
// not hold the bytes between apart operands.
[[nodiscard]] Decision<bool> decide_whole_lines(double near_cycles, double close_cycles, double added_cycles,
                                                const OperandParameters& parameters = {});

// Whether loads of constants evicted operands, from passes before and after, and the time if all missed.
[[nodiscard]] Decision<bool> decide_evicted(double before_cycles, double after_cycles, double all_miss_cycles);

}  // namespace gputopo::probe
