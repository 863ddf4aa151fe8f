// The plots of several reports for a page that compares them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gputopo/report.h"
#include "report/compare/compare.h"
#include "report/html/page.h"

namespace gputopo::report {

// An attribute by its group ("gpu", "compute" or the id of an element) and its id.
using AttributeName = std::pair<std::string, std::string>;

// The plots of attributes that more than one report has samples of, side by side.
struct PlotPairs {
  Markup text;
  std::map<AttributeName, std::string> anchors;  // of the first pair of an attribute
};

// Attributes that differ stand before those that do not. The charts are added to `charts`.
[[nodiscard]] PlotPairs plot_pairs(const std::vector<NamedReport>& reports, const std::vector<Comparison>& comparisons,
                                   std::vector<PlacedChart>& charts);

// Latency and bandwidth over footprint, all reports in one plot.
[[nodiscard]] Markup curves_section(const std::vector<NamedReport>& reports, std::vector<PlacedChart>& charts);

}  // namespace gputopo::report
