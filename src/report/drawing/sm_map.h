// The SMs (CUs) in the drawing of the chip: frames within frames, the smallest groups as cells that touch, and at the
// foot of each group the caches that it shares.
#pragma once

#include <cstddef>
#include <vector>

#include "report/drawing/chip.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

// `first_cell` is where the enlarged SM is taken from.
struct UnitGrid {
  Markup text;
  double height = 0;
  double first_cell_right = 0;
  double first_cell_top = 0;
  std::size_t cells = 0;  // drawn so far
};

// `with_heat`: with the layer of latencies, which a page shows when it is asked to.
[[nodiscard]] UnitGrid unit_grid(const Chip& chip, bool with_heat, double x, double y, double width);

}  // namespace gputopo::report
