// Ways of an instruction cache, from how steep its edge is. Straight-line code that is run again and again fills one
// set after the other; under LRU a line too many makes all lines of its set miss, its ways and itself. So what a pass
// takes longer grows by as many misses as there are ways, and one more, with each line, until all sets overflow. Fooled
// by sets that are not alike; replacement at random is as steep whatever the ways, and is refused.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gputopo/program.h"
#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct CodeWaysParameters {
  // Parts of the code that miss between which the edge is looked at. Where little misses, it may be because something
  // else lies in some of the sets. Nearer each other: clearer of both ends, with fewer lengths between.
  double good_part = 0.2;
  double nearly_all = 0.9;
  // Lengths that are looked at, if there are as many. More: a better mean.
  std::uint32_t lengths = 8;
  // Lengths that it takes to see that an edge is straight.
  std::size_t least_lengths = 3;
  // How far the misses of a length may be off the line, as a part of the most misses. Larger takes bent edges.
  double straight = 0.03;
  // Fewer ways than this are replacement at random, which is as steep as one way or two.
  double least_ways = 1.5;
  // Part of the code that must miss where every set has a line too many. Smaller takes edges that end slowly.
  double all = 0.96;
  // What a miss takes is known to this part, and the ways with it.
  double miss_tolerance = 0.02;
  // How far from what fits the line may begin: this part of it, or so many instructions, a block. Larger takes the ramp
  // of a hashed index, whose first sets overflow long before the others, for the edge of fewer ways.
  double beginning_part = 0.02;
  double beginning_instructions = kCodeBlockInstructions;
};

// From `first` to `last`, about equally far apart, each once; nothing where there is none between.
[[nodiscard]] std::vector<std::uint32_t> spread(std::uint32_t first, std::uint32_t last, std::uint32_t count);

// Code on the edge, in instructions.
struct MissedLength {
  double length = 0;
  double missed = 0;
};

// The edge as a straight line.
struct CodeSlope {
  double misses_per_instruction = 0;  // of code that is too much
  double intercept = 0;               // misses of no code, on that line: below none
  double furthest = 0;                // misses that a length is off the line, at most
  double most_missed = 0;             // of any length
  std::size_t lengths = 0;

  [[nodiscard]] double ways() const { return misses_per_instruction - 1; }
  // Length at which the line begins.
  [[nodiscard]] double begins() const { return -intercept / misses_per_instruction; }
  // Length from which on all of it misses, because every set has a line too many.
  [[nodiscard]] double all_miss() const { return -intercept / ways(); }
};
// The lengths ascend. Nothing where what misses does not grow in one line.
[[nodiscard]] Decision<CodeSlope> fit_code_slope(std::span<const MissedLength> lengths,
                                                 const CodeWaysParameters& parameters = {});

struct CodeWays {
  std::int64_t value = 0;
  stats::Interval interval;
};
// `missed_behind`: part that misses of `behind` instructions, right behind all_miss(). Nothing where not all does, or
// where the line does not begin at the longest code that fits.
[[nodiscard]] Decision<CodeWays> decide_code_ways(const CodeSlope& slope, std::uint32_t fits, std::uint32_t behind,
                                                  double missed_behind, const CodeWaysParameters& parameters = {});

}  // namespace gputopo::probe
