#include "probe/warps/address_cost_decision.h"

#include <fmt/format.h>

#include <cmath>

namespace gputopo::probe {

Decision<CostLine> decide_address_cost(const AddressCurve& curve, const AddressCostParameters& parameters) {
  const CostLine cost = cost_line(curve.addresses, curve.cycles);
  const double slope = cost.line.slope;
  Decision<CostLine> decision{
      .basis = fmt::format("each additional address adds {:.2f} cycles; residual {:.2f}", slope, cost.residual_cycles)};
  const bool is_free = std::abs(slope) < parameters.least_cycles && cost.residual_cycles < parameters.least_cycles;
  const bool is_even = slope >= parameters.least_cycles && cost.residual_cycles <= parameters.max_residual * slope;
  if (is_free || is_even) {
    decision.value = cost;
  } else {
    decision.why_not = fmt::format(
        "the cost is not linear in the number of addresses: a linear fit of {:.2f} cycles per address leaves a "
        "residual of {:.2f} cycles",
        slope, cost.residual_cycles);
  }
  return decision;
}

}  // namespace gputopo::probe
