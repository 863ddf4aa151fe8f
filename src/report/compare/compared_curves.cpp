#include "report/compare/compared_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "report/drawing/bandwidth_curve.h"

namespace gputopo::report {
namespace {

// One kind of load.
struct Way {
  std::string label;
  Chart chart;                       // one line per report
  std::vector<std::size_t> reports;  // reports that have it
};

// GPUs have different SM counts, and AMD's SMs are CUs, so "all 132 SMs" becomes "the whole chip".
std::string way_of(const std::string& label) {
  if (label.starts_with("all ")) return "the whole chip";
  return label.starts_with("one ") ? "one SM or CU" : label;
}

// An empty chart with the same axes.
Chart chart_like(const Chart& curve, const std::string& title) {
  Chart chart = empty_chart(title, "", curve.samples.columns[0], curve.samples.columns[2]);
  chart.x = curve.x;
  chart.y = curve.y;
  return chart;
}

void add_ways(std::size_t report, const std::string& name, const Chart& curve, std::vector<Way>& ways) {
  constexpr std::size_t kMostLines = 8;  // number of colors
  for (const Series& series : curve.series) {
    const std::string label = way_of(series.label);
    auto way = std::ranges::find(ways, label, &Way::label);
    if (way == ways.end()) {
      way = ways.insert(ways.end(), Way{label, chart_like(curve, fmt::format("{}: {}", curve.title, label)), {}});
    }
    // Readers would take two lines of one report for two reports.
    if (!way->reports.empty() && way->reports.back() == report) continue;
    way->reports.push_back(report);
    if (way->chart.series.size() < kMostLines) {
      add_line(name, static_cast<double>(report), points_of(curve, series), way->chart);
    } else {
      ++way->chart.series_left_out;
    }
  }
}

// Two labeled sets of marks are readable. With more reports, nobody could match marks to reports.
void add_capacities(const std::vector<const Topology*>& reports, const std::vector<std::string>& names, Chart& curve) {
  constexpr std::size_t kMostReports = 2;
  if (reports.size() > kMostReports) return;
  const Range footprints = range_of(curve.column(curve.x.column));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (ChartMark& mark : capacity_marks(*reports[i])) {
      if (mark.value < footprints.least || mark.value > footprints.greatest) continue;
      mark.label = fmt::format("{}: {}", names[i], mark.label);
      mark.low = mark.high = std::nullopt;  // several bands would overlap
      curve.marks.push_back(std::move(mark));
    }
  }
}

}  // namespace

std::vector<Chart> compared_curves(const std::vector<const Topology*>& reports, const std::vector<std::string>& names) {
  std::vector<Chart> curves;
  for (auto* const make : {latency_curve, bandwidth_curve}) {
    std::vector<Way> ways;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      if (const std::optional<Chart> curve = make(*reports[i])) add_ways(i, names[i], *curve, ways);
    }
    for (Way& way : ways) {
      if (way.reports.size() < 2) continue;
      way.chart.samples.name = fmt::format("compared_{}", curves.size());
      // Global loads pass through the caches that have capacity marks; other kinds of loads do not.
      if (&way == &ways.front() || make == bandwidth_curve) add_capacities(reports, names, way.chart);
      curves.push_back(std::move(way.chart));
    }
  }
  return curves;
}

}  // namespace gputopo::report
