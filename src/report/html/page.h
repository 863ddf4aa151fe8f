// The frame of an HTML report: head, style, script and the script's data. The caller provides the content.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"
#include "report/drawing/chart.h"
#include "report/drawing/markup.h"
#include "report/json/thin.h"

namespace gputopo::report {

// Files of web/dist, embedded in the binary.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;
extern const std::string_view kPageScriptHash;  // "sha256-...", as in a Content-Security-Policy

// Limit for all samples of a page. With script and markup the page then stays below 3 MiB.
inline constexpr std::size_t kMaxNumbersOfPage = 200000;

// A chart of the page and the location of its numbers: the report's index, the group ("gpu", "compute" or a memory
// element's id) and the attribute. Without a group, the chart carries its own numbers, which belong to no attribute.
struct PlacedChart {
  Chart chart;
  std::size_t report = 0;
  std::string group = {};
  std::string attribute = {};
  std::string device = {};  // name of the devices in a chart of several reports
};

struct Page {
  std::string title;
  Markup body;
  std::vector<const Topology*> reports;  // embedded in the page as JSON
  std::vector<PlacedChart> charts;       // in the order of the figures that refer to them
};

// Frame of every page, with or without a script. Its policy lets only the program's own script run.
[[nodiscard]] Markup page_frame(const std::string& title, ProgramText style, const Markup& body);

[[nodiscard]] std::string html_page(const Page& page);

// Place where the script draws chart `index`, with room for its buttons and a text for readers who cannot see it.
[[nodiscard]] Markup figure(std::size_t index, const Chart& chart);

// Name, facts and, in large letters, the important warnings. `names` holds the names of several reports.
[[nodiscard]] Markup page_header(const std::vector<const Topology*>& reports, const std::string& heading,
                                 const std::vector<std::string>& names = {});

}  // namespace gputopo::report
