// A plot's description, from which every format draws: SVG (plot.h), characters (report/terminal/curve_text.cpp),
// ECharts (report/html/page.cpp, web/src/option.js). Sample tables decide the plot, so new probes need no code here.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// Unit of latencies and of the timer cost.
inline constexpr const char* kCycles = "cycles";

// An axis starts at zero if its smallest sample is below this part of its largest. Others would look flat there.
inline constexpr double kStartsAtNothing = 0.4;

struct Axis {
  std::string column;
  std::string label;  // "footprint", "latency"
  std::string unit;   // "B", "cycles", "" for counts and names
  bool logarithmic = false;
};

// A result of the samples: the value, an edge, or a level.
struct ChartMark {
  bool across = false;  // horizontal line at a y; otherwise vertical at an x
  std::string label;
  double value = 0;
  std::optional<double> low;  // the mark's interval
  std::optional<double> high;
  bool is_value = false;  // the attribute's own value
};

// A line: the rows of the samples with these values in these columns, or all rows.
struct Series {
  std::string label;
  std::string column;  // its y
  std::vector<std::pair<std::string, double>> where = {};
};

struct Chart {
  std::string title;  // "L1 data cache: size"
  Plot plot = Plot::kLine;
  SampleTable samples;  // as drawn: without the timer cost, like values
  Axis x;
  Axis y;                                  // the counts of Plot::kBars
  Axis weight;                             // the counts of Plot::kDensity, the values of Plot::kMap
  std::vector<Series> series;              // empty for Plot::kDensity and Plot::kMap
  double timer_cycles = 0;                 // already subtracted from the raw latencies
  std::vector<std::string> timed_columns;  // columns from which it was subtracted
  std::size_t series_left_out = 0;         // series beyond the number that readers can distinguish
  std::vector<ChartMark> marks;            // within the samples, or close enough to extend the axis
  std::vector<ChartMark> beyond;           // so far away that they would flatten the samples

  // Returns the samples of one column; empty if there is no such column.
  [[nodiscard]] const std::vector<double>& column(std::string_view name) const;
};

// One chart for each sample table that names its plot and has its columns. `name` labels the mark at the value.
[[nodiscard]] std::vector<Chart> charts_of(const std::string& title, const std::string& name,
                                           const Attribute& attribute);

using Points = std::vector<std::pair<double, double>>;

// Returns a line's finite points in the order of the samples.
[[nodiscard]] Points points_of(const Chart& chart, const Series& series);

// Returns a chart without lines, with its own sample table, which belongs to no attribute.
[[nodiscard]] Chart empty_chart(std::string title, std::string table, Column x, Column y);
// Adds a line to such a chart. Its samples have `number` in the column "line".
void add_line(const std::string& label, double number, const Points& points, Chart& chart);

// Range of the finite numbers along an axis.
struct Range {
  double least = INFINITY;
  double greatest = -INFINITY;
  void add(double value);
  void add(const std::vector<double>& values);
  [[nodiscard]] bool empty() const { return !(least <= greatest); }
  // True if all are positive and the largest is at least `times` the smallest, which suits a logarithmic axis.
  [[nodiscard]] bool spans(double times) const { return least > 0 && greatest >= times * least; }
};
[[nodiscard]] Range range_of(const std::vector<double>& values);

}  // namespace gputopo::report
