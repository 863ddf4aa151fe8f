// The cost of each further address in a warp's load of constants, from loads of more and more addresses. What fools
// it: lanes served in groups, or words of a line that come together; both make steps instead of a line.
#pragma once

#include <vector>

#include "probe/bench/cost_line.h"
#include "probe/bench/decision.h"

namespace gputopo::probe {

struct AddressCostParameters {
  // Smaller slopes are no cost: all constants are served at once.
  double least_cycles = 0.25;
  // Largest residual (root mean square), as part of the cost of an address. Larger values accept costs that grow in
  // steps of several addresses; with smaller values jitter makes the cost inconclusive.
  double max_residual = 0.5;
};

// Cycles of a warp load over the number of different addresses of its lanes.
struct AddressCurve {
  std::vector<double> addresses;  // ascending from 1
  std::vector<double> cycles;
};

// The line, if it explains the curve.
[[nodiscard]] Decision<CostLine> decide_address_cost(const AddressCurve& curve,
                                                     const AddressCostParameters& parameters = {});

}  // namespace gputopo::probe
