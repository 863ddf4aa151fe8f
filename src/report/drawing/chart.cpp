#include "report/drawing/chart.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "report/words/columns.h"
#include "report/words/units.h"

namespace gputopo::report {
namespace {

constexpr std::size_t kMaxSeries = 8;
constexpr std::size_t kMaxMarks = 8;
constexpr const char* kLineColumn = "line";

// Largest to smallest value from which a linear axis hides the small values.
constexpr double kLogarithmicFrom = 40;
// Latencies over footprints form levels, for which ratios matter.
constexpr double kLevelsLogarithmicFrom = 10;

using Places = std::vector<std::size_t>;  // indices of table columns

// An axis for columns with the same unit; the first column names it.
Axis axis_of(const SampleTable& table, const Places& columns, double logarithmic_from = kLogarithmicFrom) {
  const Column& first = table.columns[columns.front()];
  Range range;
  for (const std::size_t column : columns) range.add(table.data[column]);
  return {first.name, first.quantity, first.unit, range.spans(logarithmic_from)};
}

// ---- Lines ----

std::set<std::vector<double>> combinations(const SampleTable& table, const Places& columns) {
  std::set<std::vector<double>> keys;
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    std::vector<double> key;
    for (const std::size_t column : columns) key.push_back(table.data[column][r]);
    keys.insert(std::move(key));
  }
  return keys;
}

// A line of one value column: all rows, or one combination's. The label names the quantity only if others exist.
Series series_of(const SampleTable& table, std::size_t value, bool is_one_of_several, const Places& columns,
                 const std::vector<double>& key) {
  Series series{is_one_of_several ? table.columns[value].quantity : "", table.columns[value].name, {}};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = table.columns[columns[i]];
    series.label +=
        fmt::format("{}{} {}", series.label.empty() ? "" : ", ", column.quantity, human_value(key[i], column.unit));
    series.where.emplace_back(column.name, key[i]);
  }
  return series;
}

bool all_differ(const std::vector<double>& values) {
  return std::set<double>(values.begin(), values.end()).size() == values.size();
}

// "latency" for "latency p50" and "latency p99"; "load, store" if the quantities have no words in common.
std::string quantity_of(const SampleTable& table, const Places& columns) {
  std::string common = table.columns[columns.front()].quantity;
  std::vector<std::string> all;
  for (const std::size_t column : columns) {
    const std::string& words = all.emplace_back(table.columns[column].quantity);
    while (!common.empty() && words != common && !words.starts_with(common + " ")) {
      const std::size_t space = common.rfind(' ');
      common.resize(space == std::string::npos ? 0 : space);
    }
  }
  return common.empty() ? fmt::format("{}", fmt::join(all, ", ")) : common;
}

// True if a line would have several values at one x, for example for shapes that were tried twice.
bool has_several_at_one_place(const SampleTable& table, std::size_t axis, const Places& grouping) {
  std::set<std::vector<double>> seen;
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    std::vector<double> place = {table.data[axis][r]};
    for (const std::size_t column : grouping) place.push_back(table.data[column][r]);
    if (!seen.insert(std::move(place)).second) return true;
  }
  return false;
}

// Adds one line for each value column with the first one's unit and for each combination of the series (blocks,
// threads, loads in flight), up to the number that readers can distinguish.
void add_lines(const SampleTable& table, const Places& axes, const Places& series, Places values, Chart& chart) {
  const std::string& unit = table.columns[values.front()].unit;
  std::erase_if(values, [&](std::size_t column) { return table.columns[column].unit != unit; });
  chart.y = axis_of(table, values);
  chart.y.label = quantity_of(table, values);
  std::set<std::vector<double>> keys = combinations(table, series);
  Places grouping = series;
  if (keys.size() * values.size() > kMaxSeries && all_differ(table.data[axes.front()])) {
    // Each x occurs only once, so the other variables changed along with it.
    keys = {{}};
    grouping.clear();
  }
  if (has_several_at_one_place(table, axes.front(), grouping)) chart.plot = Plot::kPoints;
  for (const std::size_t value : values) {
    for (const std::vector<double>& key : keys) {
      if (chart.series.size() == kMaxSeries) {
        ++chart.series_left_out;
      } else {
        chart.series.push_back(series_of(table, value, values.size() > 1, grouping, key));
      }
    }
  }
}

// ---- Raw latencies ----

constexpr std::string_view kRaw = "raw ";

bool holds_timer(const SampleTable& table, const Column& column) {
  return table.timer_cycles > 0 && column.unit == kCycles && column.quantity.starts_with(kRaw);
}

// "blocks per sm" becomes "blocks per SM", as in names of values.
std::string readable_words(std::string quantity) {
  std::ranges::replace(quantity, ' ', '_');
  return readable(quantity);
}

// Subtracts the timer cost, as in values, so that latencies of two reports are comparable.
SampleTable without_timer(const SampleTable& table) {
  SampleTable result = table;
  for (std::size_t c = 0; c < result.columns.size(); ++c) {
    std::string& quantity = result.columns[c].quantity;
    if (holds_timer(table, table.columns[c])) {
      quantity.erase(0, kRaw.size());
      for (double& cycles : result.data[c]) cycles -= table.timer_cycles;
    }
    quantity = readable_words(quantity);
  }
  return result;
}

// ---- Charts ----

// Returns a table's chart; nothing if the table lacks columns that its plot needs.
std::optional<Chart> chart_of_table(const std::string& title, SampleTable table) {
  const Places axes = columns_with(table, ColumnRole::kAxis);
  const Places values = columns_with(table, ColumnRole::kValue);
  const bool is_over_two_axes = table.plot == Plot::kDensity || table.plot == Plot::kMap;
  if (table.plot == Plot::kNone || table.row_count() == 0 || axes.size() < (is_over_two_axes ? 2 : 1) ||
      values.empty()) {
    return std::nullopt;
  }
  Chart chart{.title = title, .plot = table.plot};
  chart.x = axis_of(table, {axes[0]});
  switch (table.plot) {
    case Plot::kBars:
      chart.y = axis_of(table, {values[0]});
      chart.series = {{"", chart.y.column, {}}};
      break;
    case Plot::kDensity:
      chart.y = axis_of(table, {axes[1]}, kLevelsLogarithmicFrom);
      chart.weight = axis_of(table, {values[0]});
      break;
    case Plot::kMap:
      chart.y = axis_of(table, {axes[1]});
      chart.weight = axis_of(table, {values[0]});
      chart.x.logarithmic = chart.y.logarithmic = false;
      break;
    case Plot::kLine:
    case Plot::kPoints:
    case Plot::kNone:
      add_lines(table, axes, columns_with(table, ColumnRole::kSeries), values, chart);
      // SM numbers are names: their distances on an axis mean nothing.
      if (table.plot == Plot::kPoints && chart.x.unit.empty()) chart.x.logarithmic = false;
      break;
  }
  chart.samples = std::move(table);
  return chart;
}

// ---- Marks ----

// Along x a mark must lie within the samples. A y may lie beyond them (a theoretical peak) by up to this factor. A mark
// farther away is another quantity in the same unit, such as the cost of one conflict on a latency axis.
constexpr double kNearBy = 1.7;

struct Extent {
  Range x;
  Range y;
};

Extent extent_of(const Chart& chart) {
  Extent extent;
  extent.x.add(chart.column(chart.x.column));
  if (chart.series.empty()) extent.y.add(chart.column(chart.y.column));
  for (const Series& series : chart.series) extent.y.add(chart.column(series.column));
  return extent;
}

bool is_in(const Range& range, double value, double room) {
  return value >= range.least / room && value <= range.greatest * room;
}

// True if the samples would form a flat line on an axis extended to this value.
bool flattens(const Range& samples, double value) {
  constexpr double kLeastPart = 0.25;  // fraction of the axis that the samples cover
  Range all = samples;
  all.add(value);
  if (all.least < kStartsAtNothing * all.greatest) all.least = std::min(all.least, 0.0);
  const double span = samples.greatest - samples.least;
  return span > 0 && span < kLeastPart * (all.greatest - all.least);
}

// If both axes have the mark's unit, the mark is a y, which is what was measured.
void add_mark(Chart& chart, ChartMark mark, const std::string& unit, const Extent& extent) {
  if (unit.empty() || chart.plot == Plot::kMap) return;
  mark.across = chart.plot != Plot::kBars && chart.y.unit == unit;
  if (!mark.across && chart.x.unit != unit) return;
  if (!(mark.across ? is_in(extent.y, mark.value, kNearBy) : is_in(extent.x, mark.value, 1))) return;
  if (mark.across && !mark.is_value && !chart.y.logarithmic && flattens(extent.y, mark.value)) {
    chart.beyond.push_back(std::move(mark));
    return;
  }
  // Marks at the same position become one mark with several names.
  constexpr double kSamePart = 0.002;
  for (ChartMark& other : chart.marks) {
    if (other.across != mark.across || std::abs(other.value - mark.value) > kSamePart * std::abs(mark.value)) continue;
    constexpr std::size_t kLongest = 40;
    if (other.label.size() + mark.label.size() <= kLongest) other.label += ", " + mark.label;
    return;
  }
  if (chart.marks.size() < kMaxMarks) chart.marks.push_back(std::move(mark));
}

// Turns a detail into marks: one number, or each number of a list with its position ("level 2" of "levels").
std::vector<ChartMark> marks_of(const Value& detail, const std::string& label) {
  std::vector<ChartMark> marks;
  if (const auto* whole = std::get_if<std::int64_t>(&detail)) {
    marks.push_back({.label = label, .value = static_cast<double>(*whole)});
  } else if (const auto* real = std::get_if<double>(&detail)) {
    marks.push_back({.label = label, .value = *real});
  } else if (const auto* list = std::get_if<std::vector<double>>(&detail)) {
    const std::string one = label.ends_with('s') ? label.substr(0, label.size() - 1) : label;
    for (const double value : *list) {
      marks.push_back({.label = fmt::format("{} {}", one, marks.size() + 1), .value = value});
    }
  }
  return marks;
}

// Marks the value with its interval, and the details that the table names.
void add_marks(Chart& chart, const SampleTable& table, const std::string& value_name, const Attribute& attribute) {
  const Extent extent = extent_of(chart);
  if (const std::optional<double> value = attribute.number()) {
    const ChartMark mark{
        .label = value_name, .value = *value, .low = attribute.low, .high = attribute.high, .is_value = true};
    add_mark(chart, mark, attribute.unit, extent);
  }
  for (const std::string& name : table.marks) {
    const Value* detail = attribute.find_detail(name);
    if (detail == nullptr) continue;
    const DetailName words = detail_name(name);
    for (ChartMark& mark : marks_of(*detail, words.label)) add_mark(chart, std::move(mark), words.unit, extent);
  }
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

std::vector<Chart> charts_of(const std::string& title, const std::string& name, const Attribute& attribute) {
  std::vector<Chart> charts;
  for (const SampleTable& table : attribute.samples) {
    std::optional<Chart> chart = chart_of_table(title, without_timer(table));
    if (!chart) continue;
    for (const Column& column : table.columns) {
      if (holds_timer(table, column)) chart->timed_columns.push_back(column.name);
    }
    if (!chart->timed_columns.empty()) chart->timer_cycles = table.timer_cycles;
    add_marks(*chart, table, name, attribute);
    charts.push_back(*std::move(chart));
  }
  // Several charts get distinct titles from their tables' names.
  std::map<std::string, int> seen;
  for (Chart& chart : charts) {
    if (charts.size() > 1) chart.title += ", " + readable(last_part(chart.samples.name));
    if (const int times = ++seen[chart.title]; times > 1) chart.title += fmt::format(" {}", times);
  }
  return charts;
}

const std::vector<double>& Chart::column(std::string_view name) const {
  static const std::vector<double> kNone;
  const auto found = std::ranges::find(samples.columns, name, &Column::name);
  return found == samples.columns.end() ? kNone
                                        : samples.data[static_cast<std::size_t>(found - samples.columns.begin())];
}

Points points_of(const Chart& chart, const Series& series) {
  const std::vector<double>& xs = chart.column(chart.x.column);
  const std::vector<double>& ys = chart.column(series.column);
  Points points;
  for (std::size_t r = 0; r < std::min(xs.size(), ys.size()); ++r) {
    const bool is_of_series = std::ranges::all_of(
        series.where, [&](const auto& condition) { return chart.column(condition.first)[r] == condition.second; });
    if (is_of_series && std::isfinite(xs[r]) && std::isfinite(ys[r])) points.emplace_back(xs[r], ys[r]);
  }
  return points;
}

Chart empty_chart(std::string title, std::string table, Column x, Column y) {
  Chart chart{.title = std::move(title)};
  chart.x = {x.name, x.quantity, x.unit};
  chart.y = {y.name, y.quantity, y.unit};
  chart.samples = {.name = std::move(table), .plot = Plot::kLine};
  chart.samples.columns = {std::move(x), {kLineColumn, ColumnRole::kSeries, kLineColumn, ""}, std::move(y)};
  chart.samples.data.resize(chart.samples.columns.size());
  return chart;
}

void add_line(const std::string& label, double number, const Points& points, Chart& chart) {
  for (const auto& [x, y] : points) {
    chart.samples.data[0].push_back(x);
    chart.samples.data[1].push_back(number);
    chart.samples.data[2].push_back(y);
  }
  chart.series.push_back({label, chart.y.column, {{kLineColumn, number}}});
}

void Range::add(double value) {
  if (!std::isfinite(value)) return;
  least = std::min(least, value);
  greatest = std::max(greatest, value);
}

void Range::add(const std::vector<double>& values) {
  for (const double value : values) add(value);
}

Range range_of(const std::vector<double>& values) {
  Range range;
  range.add(values);
  return range;
}

}  // namespace gputopo::report
