// Charts as SVG documents, for Markdown and for pages without a script.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/drawing/chart.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

// One below the other; `notes` stand below them, a line each. The first one's title is the name of the drawing.
[[nodiscard]] Markup plots_svg(std::span<const Chart> charts, const std::vector<std::string>& notes);
[[nodiscard]] Markup plot_svg(const Chart& chart);

}  // namespace gputopo::report
