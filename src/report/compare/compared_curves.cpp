#include "report/compare/compared_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "report/drawing/bandwidth_curve.h"

namespace gputopo::report {
namespace {

// A line of one report's curve.
struct ReportLine {
  std::size_t report;
  std::vector<double> footprints;
  std::vector<double> values;
};

// Of one way that loads take, with the axes and columns of the first report that has it.
struct Way {
  std::string label;
  Chart like;
  std::vector<Column> columns;
  std::vector<ReportLine> lines;
};

// GPUs have different numbers of SMs, and AMD's are CUs: "all 132 SMs" are all.
std::string way_of(const std::string& label) {
  if (label.starts_with("all ")) return "the whole chip";
  return label.starts_with("one ") ? "one SM or CU" : label;
}

ReportLine report_line(std::size_t report, const SampleTable& table, double number) {
  ReportLine line{report, {}, {}};
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    if (table.data[1][r] != number) continue;
    line.footprints.push_back(table.data[0][r]);
    line.values.push_back(table.data[2][r]);
  }
  return line;
}

void add_ways(std::size_t report, const Curve& curve, std::vector<Way>& ways) {
  const SampleTable& table = curve.holder.samples.front();
  for (const Series& series : curve.chart.series) {
    const std::string label = way_of(series.label);
    auto way = std::ranges::find(ways, label, &Way::label);
    if (way == ways.end()) way = ways.insert(ways.end(), Way{label, curve.chart, table.columns, {}});
    // Two lines of one report would be taken for two reports.
    if (!way->lines.empty() && way->lines.back().report == report) continue;
    way->lines.push_back(report_line(report, table, series.where.front().second));
  }
}

// A name is long enough beside one other; of more nobody could tell which belongs to which.
void add_capacities(const std::vector<const Topology*>& reports, const std::vector<std::string>& names, Curve& curve) {
  constexpr std::size_t kMostReports = 2;
  if (reports.size() > kMostReports) return;
  const auto [least, greatest] = std::ranges::minmax(curve.holder.samples.front().data[0]);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (ChartMark& mark : capacity_marks(*reports[i])) {
      if (mark.value < least || mark.value > greatest) continue;
      mark.label = fmt::format("{}: {}", names[i], mark.label);
      mark.low = mark.high = std::nullopt;  // bands of several would cover each other
      curve.chart.marks.push_back(std::move(mark));
    }
  }
}

Curve curve_of_way(const Way& way, std::size_t number, const std::vector<std::string>& names) {
  constexpr std::size_t kMostLines = 8;  // colours
  Curve curve;
  Chart& chart = curve.chart;
  chart.title = fmt::format("{}: {}", way.like.title, way.label);
  chart.table = fmt::format("compared_{}", number);
  chart.x = way.like.x;
  chart.y = way.like.y;
  SampleTable table{.name = chart.table, .plot = Plot::kLine, .columns = way.columns};
  table.columns[1].quantity = "report";
  table.data.resize(table.columns.size());
  for (const ReportLine& line : way.lines) {
    if (chart.series.size() == kMostLines) {
      ++chart.series_left_out;
      continue;
    }
    const auto report = static_cast<double>(line.report);
    table.data[0].insert(table.data[0].end(), line.footprints.begin(), line.footprints.end());
    table.data[1].insert(table.data[1].end(), line.footprints.size(), report);
    table.data[2].insert(table.data[2].end(), line.values.begin(), line.values.end());
    chart.series.push_back({names[line.report], way.columns[2].name, {{kLineColumn, report}}});
  }
  curve.holder.samples.push_back(std::move(table));
  return curve;
}

}  // namespace

std::vector<Curve> compared_curves(const std::vector<const Topology*>& reports, const std::vector<std::string>& names) {
  std::vector<Curve> curves;
  for (auto* const make : {latency_curve, bandwidth_curve}) {
    std::vector<Way> ways;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      if (const std::optional<Curve> curve = make(*reports[i])) add_ways(i, *curve, ways);
    }
    for (const Way& way : ways) {
      if (way.lines.size() < 2) continue;
      Curve& curve = curves.emplace_back(curve_of_way(way, curves.size(), names));
      // What global loads pass.
      if (&way == &ways.front() || make == bandwidth_curve) add_capacities(reports, names, curve);
    }
  }
  return curves;
}

}  // namespace gputopo::report
