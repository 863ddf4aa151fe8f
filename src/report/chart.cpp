#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "report/hierarchy.h"
#include "report/thin.h"
#include "report/units.h"

namespace gputopo::report {
namespace {

constexpr std::size_t kMostSeries = 8;
constexpr std::size_t kMostMarks = 8;
// From this ratio of the greatest to the least on, equal steps hide the small values.
constexpr double kLogarithmicFrom = 40;
// Latencies over footprints are levels, whose ratios count.
constexpr double kLevelsLogarithmicFrom = 10;

Axis axis_of(const std::string& column, const std::vector<double>& values, double from = kLogarithmicFrom) {
  const ColumnName name = column_name(column);
  Axis axis{column, name.label, name.unit, false};
  double least = INFINITY;
  double greatest = -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  axis.logarithmic = least > 0 && greatest >= from * least;
  return axis;
}

// Columns whose combinations are series of their own: blocks, threads, loads in flight. The least and the greatest in
// all series are drawn, the others as far as they can be told apart.
std::vector<Series> grouped(const SampleTable& table, std::size_t y, std::size_t& left_out) {
  std::set<std::vector<double>> keys;
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    std::vector<double> key;
    for (std::size_t c = 1; c < y; ++c) key.push_back(table.data[c][r]);
    keys.insert(std::move(key));
  }
  std::vector<Series> series;
  for (const std::vector<double>& key : keys) {
    if (series.size() == kMostSeries) {
      left_out = keys.size() - series.size();
      break;
    }
    Series one{"", table.columns[y], {}};
    for (std::size_t c = 1; c < y; ++c) {
      const ColumnName name = column_name(table.columns[c]);
      one.label +=
          fmt::format("{}{} {}", one.label.empty() ? "" : ", ", name.label, human_value(key[c - 1], name.unit));
      one.where.emplace_back(table.columns[c], key[c - 1]);
    }
    series.push_back(std::move(one));
  }
  return series;
}

struct Range {
  double least = INFINITY;
  double greatest = -INFINITY;
  void add(const std::vector<double>* values) {
    if (values == nullptr) return;
    for (const double value : *values) {
      if (!std::isfinite(value)) continue;
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
  }
};

// Along x a mark stands at samples; a y may lie beyond them (a peak in theory), but what is far from all of them is
// another quantity in the same unit (the cost of one conflict, on an axis of latencies).
constexpr double kNearBy = 1.7;

bool is_in(const Range& range, double value, bool across) {
  const double room = across ? kNearBy : 1;
  return value >= range.least / room && value <= range.greatest * room;
}

void add_mark(Chart& chart, ChartMark mark, const std::string& unit, const Range& x, const Range& y) {
  if (unit.empty() || chart.kind == ChartKind::kMap) return;
  if (chart.x.unit == unit) {
    mark.across = false;
  } else if (chart.y.unit == unit && chart.kind != ChartKind::kBars) {
    mark.across = true;
  } else {
    return;
  }
  if (!is_in(mark.across ? y : x, mark.value, mark.across)) return;
  // Marks at one place are one mark with several names.
  constexpr double kSamePart = 0.002;
  for (ChartMark& other : chart.marks) {
    if (other.across != mark.across || std::abs(other.value - mark.value) > kSamePart * std::abs(mark.value)) continue;
    constexpr std::size_t kLongest = 40;
    if (other.label.size() + mark.label.size() <= kLongest) other.label += ", " + mark.label;
    return;
  }
  if (chart.marks.size() < kMostMarks) chart.marks.push_back(std::move(mark));
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// The value with its interval, and the details in the same unit: edges, levels, percentiles. A list among the details
// belongs to the table of its name, and such a table has no other details as marks.
void add_marks(Chart& chart, const std::string& value_name, const Attribute& attribute) {
  // Raw latencies hold the timer's cost too; values do not.
  if (chart.x.column.rfind("raw_", 0) == 0 || chart.y.column.rfind("raw_", 0) == 0) {
    if (const Value* timer = attribute.find_detail("timer_cycles")) {
      if (const double* cycles = std::get_if<double>(timer)) chart.timer_cycles = *cycles;
    }
  }
  const double offset = chart.timer_cycles;
  Range x;
  Range y;
  x.add(find_column(attribute, chart, chart.x.column));
  if (chart.series.empty()) y.add(find_column(attribute, chart, chart.y.column));
  for (const Series& series : chart.series) y.add(find_column(attribute, chart, series.column));
  if (const std::optional<double> value = attribute.number()) {
    ChartMark mark{.label = value_name, .value = *value + offset, .is_value = true};
    if (attribute.low) mark.low = *attribute.low + offset;
    if (attribute.high) mark.high = *attribute.high + offset;
    add_mark(chart, mark, attribute.unit, x, y);
  }
  const std::string table = last_part(chart.table);
  for (const auto& [name, value] : attribute.details) {
    const auto* list = std::get_if<std::vector<double>>(&value);
    const ColumnName words = column_name(name);
    if (list == nullptr || words.label != readable(table)) continue;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string one = words.label.back() == 's' ? words.label.substr(0, words.label.size() - 1) : words.label;
      add_mark(chart, {.label = fmt::format("{} {}", one, i + 1), .value = list->at(i) + offset}, words.unit, x, y);
    }
    return;
  }
  for (const auto& [name, value] : attribute.details) {
    const bool is_bound = name.find("_low_") != std::string::npos || name.find("_high_") != std::string::npos;
    const bool is_no_place = is_bound || name == "timer_cycles" || name.find("deviation") != std::string::npos;
    std::optional<double> number;
    if (const auto* real = std::get_if<double>(&value)) number = *real;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*whole);
    // What has the name of the axis says which of its samples the value is.
    if (is_no_place || !number || name == chart.x.column) continue;
    const ColumnName words = column_name(name);
    add_mark(chart, {.label = words.label, .value = *number + offset}, words.unit, x, y);
  }
}

// A small grid reads better as lines: bandwidth over blocks, a line for each number of loads in flight.
bool is_large_map(const SampleTable& table) {
  return is_map(table) && std::set<double>(table.data[1].begin(), table.data[1].end()).size() > kMostSeries;
}

std::string last_word(const std::string& text) { return text.substr(text.rfind(' ') + 1); }
std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

// Two of one kind and a value for each pair: which SM evicts which, however few of the pairs were kept.
bool is_pairing(const SampleTable& table) {
  if (table.columns.size() != 3) return false;
  const ColumnName x = column_name(table.columns[0]);
  const ColumnName y = column_name(table.columns[1]);
  return x.unit == y.unit && x.label != y.label && last_word(x.label) == last_word(y.label);
}

bool all_differ(const std::vector<double>& values) {
  return std::set<double>(values.begin(), values.end()).size() == values.size();
}

// "latency" of "latency p50" and "latency p99".
std::string common_words(const std::vector<Series>& series) {
  std::string common = series.front().label;
  for (const Series& one : series) {
    while (!common.empty() && one.label != common && one.label.rfind(common + " ", 0) != 0) {
      const std::size_t space = common.rfind(' ');
      common.resize(space == std::string::npos ? 0 : space);
    }
  }
  return common;
}

Chart chart_of_table(const std::string& title, const SampleTable& table) {
  Chart chart;
  chart.title = title;
  chart.table = table.name;
  const std::size_t last = table.columns.size() - 1;
  chart.x = axis_of(table.columns.front(), table.data.front());
  chart.y = axis_of(table.columns[std::min<std::size_t>(1, last)], table.data[std::min<std::size_t>(1, last)]);
  const bool counts = is_count(table.columns[last]);
  if (last == 1 && counts) {
    chart.kind = ChartKind::kBars;
    chart.series = {{"", table.columns[last], {}}};
  } else if (last == 2 && (counts || is_large_map(table) || is_pairing(table))) {
    chart.kind = counts ? ChartKind::kDensity : ChartKind::kMap;
    if (chart.kind == ChartKind::kDensity) {
      chart.y = axis_of(table.columns[1], table.data[1], kLevelsLogarithmicFrom);
    }
    if (chart.kind == ChartKind::kMap) chart.x.logarithmic = chart.y.logarithmic = false;
    chart.weight = table.columns[last];
    chart.weight_unit = column_name(chart.weight).unit;
  } else {
    // What was measured is in the last columns: as many as have the last one's unit, or its first word where there is
    // no unit ("share", "share_first_touched_again"). What is between varied, too.
    std::size_t first_y = last;
    const ColumnName measured = column_name(table.columns[last]);
    const auto is_alike = [&](const ColumnName& other) {
      return measured.unit.empty() ? first_word(other.label) == first_word(measured.label)
                                   : other.unit == measured.unit;
    };
    while (first_y > 1 && is_alike(column_name(table.columns[first_y - 1]))) --first_y;
    chart.y = axis_of(table.columns[last], table.data[last]);
    const std::string what = last_word(chart.x.label);
    chart.points_only = (what == "sm" || what == "cu") && chart.x.label.find("per ") == std::string::npos;
    if (first_y == last && last > 1) {
      chart.series = grouped(table, last, chart.series_left_out);
      if (chart.series_left_out > 0 && all_differ(table.data.front())) {
        // Each x once: what else varied went along with it.
        chart.series = {{"", table.columns[last], {}}};
        chart.series_left_out = 0;
      }
    } else {
      for (std::size_t c = std::max<std::size_t>(first_y, std::min<std::size_t>(1, last)); c <= last; ++c) {
        chart.series.push_back({last == first_y ? "" : column_name(table.columns[c]).label, table.columns[c], {}});
      }
      if (chart.series.size() > 1) chart.y.label = common_words(chart.series);
    }
  }
  return chart;
}

// Lists of one length and one unit in the details are curves over the first of them: a size at every carve-out.
std::optional<Chart> chart_of_details(const std::string& title, const Attribute& attribute) {
  std::vector<std::pair<std::string, const std::vector<double>*>> lists;
  for (const auto& [name, value] : attribute.details) {
    const auto* list = std::get_if<std::vector<double>>(&value);
    if (list == nullptr || list->size() < 2 || column_name(name).unit.empty()) continue;
    if (lists.empty() || list->size() == lists.front().second->size()) lists.emplace_back(name, list);
  }
  if (lists.size() < 2) return std::nullopt;
  Chart chart;
  chart.title = fmt::format("{} by {}", title, column_name(lists.front().first).label);
  chart.x = axis_of(lists[0].first, *lists[0].second);
  chart.y = axis_of(lists[1].first, *lists[1].second);
  chart.y.label = column_name(lists[1].first).label;
  for (std::size_t i = 1; i < lists.size() && i <= kMostSeries; ++i) {
    chart.series.push_back({column_name(lists[i].first).label, lists[i].first, {}});
  }
  return chart;
}

}  // namespace

std::string_view to_string(ChartKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"line", "bars", "density", "map"};
  return kNames.at(static_cast<std::size_t>(kind));
}

ColumnName column_name(std::string_view column) {
  struct Suffix {
    std::string_view text;
    std::string_view unit;
  };
  // "warps in flight (warps)" would say it twice.
  if (column == "warps_in_flight") return {"in flight", "warps"};
  if (column == "bytes_per_second") return {"bandwidth", "B/s"};
  constexpr Suffix kSuffixes[] = {{"_bytes_per_second", "B/s"},
                                  {"_bytes_per_cycle", "B/cycle"},
                                  {"_bytes", "B"},
                                  {"_cycles", "cycles"},
                                  {"_seconds", "s"},
                                  {"_ns", "ns"},
                                  {"_warps", "warps"},
                                  {"_mhz", "MHz"},
                                  {"_celsius", "\u00b0C"},
                                  {"_watts", "W"}};
  for (const Suffix& suffix : kSuffixes) {
    if (column.size() > suffix.text.size() && column.substr(column.size() - suffix.text.size()) == suffix.text) {
      return {readable(column.substr(0, column.size() - suffix.text.size())), std::string(suffix.unit)};
    }
  }
  return {readable(column), ""};
}

std::vector<Chart> charts_of(const std::string& title, const std::string& name, const Attribute& attribute) {
  std::vector<Chart> charts;
  const auto is_drawn = [](const SampleTable& table) { return table.columns.size() >= 2 && table.row_count() > 0; };
  const bool several = std::count_if(attribute.samples.begin(), attribute.samples.end(), is_drawn) > 1;
  std::map<std::string, int> seen;
  for (const SampleTable& table : attribute.samples) {
    if (!is_drawn(table)) continue;
    // Each has a title of its own: by what its table is called.
    std::string own = title;
    if (several) own += ", " + readable(last_part(table.name));
    if (const int times = ++seen[own]; times > 1) own += fmt::format(" {}", times);
    charts.push_back(chart_of_table(own, table));
    add_marks(charts.back(), name, attribute);
  }
  if (std::optional<Chart> chart = chart_of_details(title, attribute)) charts.push_back(*std::move(chart));
  return charts;
}

const std::vector<double>* find_column(const Attribute& attribute, const Chart& chart, std::string_view column) {
  if (chart.table.empty()) {
    const Value* value = attribute.find_detail(column);
    return value == nullptr ? nullptr : std::get_if<std::vector<double>>(value);
  }
  for (const SampleTable& table : attribute.samples) {
    if (table.name != chart.table) continue;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c] == column) return &table.data[c];
    }
  }
  return nullptr;
}

}  // namespace gputopo::report
