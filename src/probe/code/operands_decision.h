// What operations on constants tell of the cache that serves constants whose address stands in the instruction, from
// what a pass over ever more of them takes. Fooled by lines longer than the operands are apart, which end in stairs,
// and by sets that are used unevenly, which overflow early: then the interval is wide.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"
#include "stats/plateaus.h"

namespace gputopo::probe {

struct OperandParameters {
  // What a pass costs in itself, and an operation, are read off passes of up to so many close operands.
  std::uint32_t line_operands = 16;
  // The step behind the nearest cache is one where an operation takes longer by this part. Smaller: code that a cache
  // does not hold is taken for it.
  double least_rise = 0.1;
  // A pass misses where it takes longer by this part of what one miss adds, and by so many times what passes differ
  // that miss nothing. Smaller: noise ends the cache early.
  double least_miss = 0.7;
  double times_noise = 3;
  // Nearly all miss where this part does. Larger: wider intervals.
  double most_miss = 0.6;
  // And not before so many operands more, which is more than the longest line has, add this part of what they would.
  // Looked for up to so many times the count. Fewer operands, a larger part or more times: wider intervals.
  std::uint32_t stall_operands = 6;
  double stall = 0.35;
  double stall_times = 3;
  // Where the oldest line of a set is replaced, each line too many makes a whole set miss: the misses of all counts up
  // to where all miss follow from sets and ways, to within this part of them and a half. Larger: more than one number
  // of ways may explain them.
  double follows = 0.08;
  // Where a pass has two lines of its own, they tell of no one cache but if some operands miss of so many counts.
  // Fewer: sets that are used unevenly are explained too.
  std::size_t least_partly_missing = 3;
  // Operands that share a miss, 2 or 4, make stairs: one of these numbers explains the growth where what it leaves is
  // less than this part of what the others do. Larger: more are told apart.
  double clearly = 0.4;
};

// What passes over so many operands take, in cycles, apart and close.
struct OperandPasses {
  std::uint32_t operands = 0;
  double apart_cycles = 0;
  double close_cycles = 0;
};

struct OperandCurve {
  std::vector<double> footprints_bytes;      // that the apart operands lie in, ascending
  std::vector<double> cycles_per_operation;  // on these, without what a pass costs in itself
  std::vector<double> added_cycles;          // to a pass, by their being apart
  std::vector<stats::Plateau> levels;
};
[[nodiscard]] OperandCurve read_operand_curve(const std::vector<OperandPasses>& passes,
                                              const OperandParameters& parameters = {});

// Counts of operands between which the nearest cache ends, for a closer look. Nothing where no step shows.
struct OperandEdge {
  std::uint32_t last_that_fits = 0;
  std::uint32_t first_that_all_miss = 0;
};
[[nodiscard]] Decision<OperandEdge> find_operand_edge(const OperandCurve& curve,
                                                      const OperandParameters& parameters = {});

struct OperandCache {
  std::uint32_t fits = 0;  // the most operands, each in kApartOperandBytes of its own, that miss none
  double bytes = 0;
  stats::Interval interval;
  double hit_cycles = 0;    // of an operation
  double added_cycles = 0;  // that each further operand takes where all miss
  stats::Interval added;
  // Where misses follow from one number of sets that replace the oldest of their lines; else 0.
  std::uint32_t line_bytes = 0;
  std::uint32_t ways = 0;
  std::uint32_t own_lines = 0;  // that every pass takes besides its operands
};
// From a curve with every count about the edge.
[[nodiscard]] Decision<OperandCache> decide_operand_cache(const OperandCurve& curve,
                                                          const OperandParameters& parameters = {});

// Whether lines are no shorter than the operands are apart, where twice as many near ones, in as many bytes as it
// holds, take so many cycles, and as many close ones: if they miss, the bytes between apart operands are none of the
// cache's.
[[nodiscard]] Decision<bool> decide_whole_lines(double near_cycles, double close_cycles, double added_cycles,
                                                const OperandParameters& parameters = {});

// Whether loads of constants evicted operands, where passes took so long: before and after, and what would if all
// missed.
[[nodiscard]] Decision<bool> decide_evicted(double before_cycles, double after_cycles, double all_miss_cycles);

}  // namespace gputopo::probe
