// The steep edge of an instruction cache of few sets: too few blocks of code lie between none and all of it missing.
// Under LRU each line too many makes all lines of one more set miss, until all sets overflow, so that what misses rises
// in as many equal stairs as there are sets; how far they are apart is the line, and how high they are says the ways.
// Which line, sets and ways it is, is told from all lengths at once: by how near each comes to what was seen. Fooled by
// a single set, which shows no stairs, by other replacement, which is refused, and by two sets that fill unequally.
#pragma once

#include <cstdint>
#include <span>

#include "gputopo/program.h"
#include "probe/bench/decision.h"
#include "probe/code/ways_decision.h"

namespace gputopo::probe {

struct CodeEdgeParameters {
  // Lines that are considered: powers of two between these.
  std::uint32_t least_line_bytes = 32;
  std::uint32_t max_line_bytes = 1024;
  // And no shorter than so many instructions: two steps that code begins earlier by, or there is nothing between
  // stairs.
  std::uint32_t least_line_instructions = 2 * kCodeLeadStep;
  // Sets that are considered. More: the stairs are lost in noise.
  std::uint32_t max_sets = 64;
  // What fits is known to so many instructions, either way. Larger considers more caches, that must all be told apart.
  std::uint32_t fits_within = 2 * kCodeBlockInstructions;
  // Longest edge that is looked at, in instructions: of two leads.
  std::uint32_t max_edge = 2 * kCodeLeadInstructions;
  // Part by which all misses may be off what they should be: what a miss takes is known to some parts in a hundred.
  double factor_tolerance = 0.05;
  // Distance from what was seen, in parts of a stair, that the nearest cache may have. Larger takes edges without
  // stairs.
  double near = 0.1;
  // The same of two sets, whose stairs are one distance apart: where an index is hashed they are as far apart as chance
  // has it, and some line and ways come near. Of one way, whose stair is little more than its line, all do.
  double near_of_two = 0.05;
  // How much further the next must be off. Larger leaves more undecided; smaller tells caches apart by noise.
  double clearly = 1.4;
};

// A cache as the edge may show it; a line and all that fits in instructions.
struct CodeShape {
  std::uint32_t line = 0;
  std::uint32_t sets = 0;
  std::uint32_t ways = 0;

  [[nodiscard]] std::uint32_t fits() const { return ways * sets * line; }
  // Of so much code. The line that was begun last is not run whole.
  [[nodiscard]] double missed(double instructions) const;
};
// Standard deviation of what was seen from that, as part of what a set misses.
[[nodiscard]] double distance_of(const CodeShape& shape, std::span<const MissedLength> lengths,
                                 const CodeEdgeParameters& parameters = {});

// Of code that holds about `fits_instructions`. Nothing where no cache comes near, or several come about as near.
[[nodiscard]] Decision<CodeShape> decide_code_shape(std::span<const MissedLength> lengths,
                                                    std::uint32_t fits_instructions, double bytes_per_instruction,
                                                    const CodeEdgeParameters& parameters = {});

}  // namespace gputopo::probe
