// Plots of samples as small SVG documents, for Markdown. HTML draws the same charts with a library that can be zoomed.
#pragma once

#include <string>

#include "report/chart.h"

namespace gputopo::report {

[[nodiscard]] std::string plot_svg(const Chart& chart, const Attribute& attribute);

}  // namespace gputopo::report
