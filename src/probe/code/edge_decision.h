// The steep edge of an instruction cache with few sets, where too few blocks lie between no misses and all misses.
// Under LRU each line too many makes all lines of one more set miss, so that misses rise in as many equal stairs as
// there are sets. The distance of the stairs is the line; their height gives the ways. All lengths together select
// line, sets and ways, by the distance from the measurement. A single set shows no stairs, other replacement is
// rejected, and two sets that fill unequally fool the method.
#pragma once

#include <cstdint>
#include <span>

#include "gputopo/program.h"
#include "probe/bench/decision.h"
#include "probe/code/ways_decision.h"

namespace gputopo::probe {

struct CodeEdgeParameters {
  // Considered lines: powers of two between these.
  std::uint32_t least_line_bytes = 32;
  std::uint32_t max_line_bytes = 1024;
  // Shortest line in instructions: two steps of the lead, or nothing lies between the stairs.
  std::uint32_t least_line_instructions = 2 * kCodeLeadStep;
  // Most sets. With more, noise hides the stairs.
  std::uint32_t max_sets = 64;
  // Error of what fits, in instructions either way. Larger values consider more caches, which must all be told apart.
  std::uint32_t fits_within = 2 * kCodeBlockInstructions;
  // Longest edge that is measured, in instructions: two leads.
  std::uint32_t max_edge = 2 * kCodeLeadInstructions;
  // Common relative error of all misses: the cost of a miss is known to some percent.
  double factor_tolerance = 0.05;
  // Largest distance of the best cache from the measurement, in stairs. Larger values accept edges without stairs.
  double near = 0.1;
  // The same for two sets, whose stairs have a single distance. With a hashed index it is random, and some line and
  // ways come near. With one way, whose stair is hardly more than its line, every distance does.
  double near_of_two = 0.05;
  // Factor by which the next best must be farther off. Larger values leave more undecided; smaller ones heed noise.
  double clearly = 1.4;
};

// A cache that may explain the edge, in instructions.
struct CodeShape {
  std::uint32_t line = 0;
  std::uint32_t sets = 0;
  std::uint32_t ways = 0;

  [[nodiscard]] std::uint32_t fits() const { return ways * sets * line; }
  // Misses of this much code. The last line that is begun is not run as a whole.
  [[nodiscard]] double missed(double instructions) const;
};
// Standard deviation of the measurement from the shape, as a part of the misses of one set.
[[nodiscard]] double distance_of(const CodeShape& shape, std::span<const MissedLength> lengths,
                                 const CodeEdgeParameters& parameters = {});

// For code of which about `fits_instructions` fit. Nothing if no cache comes near, or several come about as near.
[[nodiscard]] Decision<CodeShape> decide_code_shape(std::span<const MissedLength> lengths,
                                                    std::uint32_t fits_instructions, double bytes_per_instruction,
                                                    const CodeEdgeParameters& parameters = {});

}  // namespace gputopo::probe
