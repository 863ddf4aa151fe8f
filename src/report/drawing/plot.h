// Plots of samples as small SVG documents, for Markdown. HTML draws the same charts with a library that can be zoomed.
#pragma once

#include <string>
#include <vector>

#include "report/drawing/chart.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

struct PlotOf {
  const Chart* chart;
  const Attribute* attribute;
};
// One below the other; `notes` stand below them, a line each. Its name is the first one's title.
[[nodiscard]] Markup plots_svg(const std::vector<PlotOf>& plots, const std::vector<std::string>& notes);
[[nodiscard]] Markup plot_svg(const Chart& chart, const Attribute& attribute);

}  // namespace gputopo::report
