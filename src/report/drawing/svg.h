// The chip as a drawing.
#pragma once

#include "gputopo/model.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

// An SVG element. `standalone`: a document of its own with colours; else for a page that has them.
[[nodiscard]] Markup chip_svg(const Topology& topology, bool standalone);

}  // namespace gputopo::report
