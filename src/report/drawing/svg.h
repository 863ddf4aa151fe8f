// Draws the chip.
#pragma once

#include "gputopo/model.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

// Returns an SVG element. `standalone` makes a complete document with colors; otherwise the page supplies them.
[[nodiscard]] Markup chip_svg(const Topology& topology, bool standalone);

}  // namespace gputopo::report
