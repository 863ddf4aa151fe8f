// Charts as SVG documents, for Markdown and for pages without a script.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/drawing/chart.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

// Stacks the charts. `notes` follow below, one per line. The first chart's title names the drawing.
[[nodiscard]] Markup plots_svg(std::span<const Chart> charts, const std::vector<std::string>& notes);
[[nodiscard]] Markup plot_svg(const Chart& chart);

}  // namespace gputopo::report
