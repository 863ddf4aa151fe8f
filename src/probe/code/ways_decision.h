// Ways of an instruction cache, from the steepness of its edge. Repeated straight-line code fills one set after the
// other. Under LRU a line too many makes all lines of its set miss, its ways and itself, so misses grow by ways + 1
// with each line until all sets overflow. Unequal sets fool the method; random replacement is equally steep for any
// ways, and is rejected.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gputopo/program.h"
#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct CodeWaysParameters {
  // Missed parts between which the edge is measured; few misses may come from other lines in some sets. A smaller
  // range is clearer of both ends but has fewer lengths.
  double good_part = 0.2;
  double nearly_all = 0.9;
  // Lengths that are measured, if there are as many. Larger values average better.
  std::uint32_t lengths = 8;
  // Fewest lengths that show a straight edge.
  std::size_t least_lengths = 3;
  // Largest distance of a length from the line, as a part of the most misses. Larger values accept bent edges.
  double straight = 0.03;
  // Fewer ways than this mean random replacement, which is as steep as one or two ways.
  double least_ways = 1.5;
  // Missed part of code in which every set has a line too many. Smaller values accept edges that end slowly.
  double all = 0.96;
  // Relative error of the cost of a miss, and so of the ways.
  double miss_tolerance = 0.02;
  // Largest distance of the line's beginning from what fits: this part of it or a block. Larger values take the ramp
  // of a hashed index, whose first sets overflow long before the others, for an edge of fewer ways.
  double beginning_part = 0.02;
  double beginning_instructions = kCodeBlockInstructions;
};

// Distinct values from `first` to `last`, about equally spaced; none if `last` is before `first`.
[[nodiscard]] std::vector<std::uint32_t> spread(std::uint32_t first, std::uint32_t last, std::uint32_t count);

// Code on the edge, in instructions.
struct MissedLength {
  double length = 0;
  double missed = 0;
};

// The edge as a straight line.
struct CodeSlope {
  double misses_per_instruction = 0;  // of excess code
  double intercept = 0;               // of the line, at no code; negative
  double furthest = 0;                // largest distance of a length from the line
  double most_missed = 0;             // at any length
  std::size_t lengths = 0;

  [[nodiscard]] double ways() const { return misses_per_instruction - 1; }
  // Length at which the line begins.
  [[nodiscard]] double begins() const { return -intercept / misses_per_instruction; }
  // Length from which all code misses, because every set has a line too many.
  [[nodiscard]] double all_miss() const { return -intercept / ways(); }
};
// The lengths ascend. Nothing if misses do not grow along one line.
[[nodiscard]] Decision<CodeSlope> fit_code_slope(std::span<const MissedLength> lengths,
                                                 const CodeWaysParameters& parameters = {});

struct CodeWays {
  std::int64_t value = 0;
  stats::Interval interval;
};
// `missed_behind`: missed part of `behind` instructions, just beyond all_miss(). Nothing if not all of them miss, or
// the line does not begin at the longest code that fits.
[[nodiscard]] Decision<CodeWays> decide_code_ways(const CodeSlope& slope, std::uint32_t fits, std::uint32_t behind,
                                                  double missed_behind, const CodeWaysParameters& parameters = {});

}  // namespace gputopo::probe
