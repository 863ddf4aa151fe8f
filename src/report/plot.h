// Plots of samples as small SVG documents, for Markdown. HTML draws the same charts with a library that can be zoomed.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"

namespace gputopo::report {

// `notes` stand below it, a line each.
[[nodiscard]] std::string plot_svg(const Chart& chart, const Attribute& attribute,
                                   const std::vector<std::string>& notes = {});

}  // namespace gputopo::report
