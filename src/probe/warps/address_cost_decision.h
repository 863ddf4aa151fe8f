// What each further address in a warp's load of constants costs, from loads of ever more addresses. What fools it:
// lanes that are served in groups, and words of one line that come together, which make steps instead of a line.
#pragma once

#include <vector>

#include "probe/bench/cost_line.h"
#include "probe/bench/decision.h"

namespace gputopo::probe {

struct AddressCostParameters {
  // Less than so many cycles is no cost: the constants are served all at once.
  double least_cycles = 0.25;
  // Root mean square of what the line leaves, as a part of a step. Larger: a cost that grows in steps of several
  // addresses is told as one of each; smaller: jitter makes it inconclusive.
  double max_residual = 0.5;
};

// Cycles of a load of a warp, by how many addresses its lanes have.
struct AddressCurve {
  std::vector<double> addresses;  // ascending, from 1 on
  std::vector<double> cycles;
};

// The line, where it explains the curve.
[[nodiscard]] Decision<CostLine> decide_address_cost(const AddressCurve& curve,
                                                     const AddressCostParameters& parameters = {});

}  // namespace gputopo::probe
