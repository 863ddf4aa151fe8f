// The SMs (CUs) in a chip's drawing: nested frames, touching cells for the smallest groups, shared caches at the foot.
#pragma once

#include <cstddef>
#include <vector>

#include "report/drawing/chip.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

// The connector lines to the enlarged SM start at `first_cell`.
struct UnitGrid {
  Markup text;
  double height = 0;
  double first_cell_right = 0;
  double first_cell_top = 0;
  std::size_t cells = 0;  // cells drawn so far
};

// `with_heat` adds the latency layer, which a page shows on request.
[[nodiscard]] UnitGrid unit_grid(const Chip& chip, bool with_heat, double x, double y, double width);

}  // namespace gputopo::report
