// The frame of an HTML report: the head, the style, the script and the data for it. What is between is the caller's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"
#include "report/drawing/chart.h"
#include "report/drawing/markup.h"
#include "report/json/thin.h"

namespace gputopo::report {

// web/dist, in the binary.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;
extern const std::string_view kPageScriptHash;  // "sha256-...", as a Content-Security-Policy names the
                                                // script

// Of all samples in a page: with the script and the markup it stays below 3 MiB.
inline constexpr std::size_t kMaxNumbersOfPage = 200000;

// A chart of the page and where its numbers are: reports[report], then the group ("gpu", "compute" or the id of a
// memory element) and the attribute. Without a group they are those of the chart itself, which no attribute has.
struct PlacedChart {
  Chart chart;
  std::size_t report = 0;
  std::string group = {};
  std::string attribute = {};
  std::string device = {};  // what several reports in one chart are called
};

struct Page {
  std::string title;
  Markup body;
  std::vector<const Topology*> reports;  // travel in the page as JSON
  std::vector<PlacedChart> charts;       // in the order of the figures that name them
};

// The frame of every page, whether it has a script or not: with the policy that lets no script run but the program's.
[[nodiscard]] Markup page_frame(const std::string& title, ProgramText style, const Markup& body);

[[nodiscard]] std::string html_page(const Page& page);

// The place where the script draws chart `index`, with its buttons' room and a text for who cannot see it.
[[nodiscard]] Markup figure(std::size_t index, const Chart& chart);

// Name, facts and, in large letters, what must not be overlooked.
// `names` are what several reports are called.
[[nodiscard]] Markup page_header(const std::vector<const Topology*>& reports, const std::string& heading,
                                 const std::vector<std::string>& names = {});

}  // namespace gputopo::report
