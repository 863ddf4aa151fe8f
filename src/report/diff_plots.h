// Plots for a page that compares several reports.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gputopo/report.h"
#include "report/compare/compare.h"
#include "report/html/page.h"

namespace gputopo::report {

// An attribute's group ("gpu", "compute" or an element's id) and its own id.
using AttributeName = std::pair<std::string, std::string>;

// Side-by-side plots of attributes for which more than one report has samples.
struct PlotPairs {
  Markup text;
  std::map<AttributeName, std::string> anchors;  // first plot pair of each attribute
};

// Attributes that differ come first. Adds the charts to `charts`.
[[nodiscard]] PlotPairs plot_pairs(const std::vector<NamedReport>& reports, const std::vector<Comparison>& comparisons,
                                   std::vector<PlacedChart>& charts);

// Latency and bandwidth over footprint, with all reports in one plot.
[[nodiscard]] Markup curves_section(const std::vector<NamedReport>& reports, std::vector<PlacedChart>& charts);

}  // namespace gputopo::report
