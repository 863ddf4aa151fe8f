// The description of a plot, from which every format draws it: SVG (plot.h), characters
// (report/terminal/curve_text.cpp) and, in pages, ECharts (report/html/page.cpp, web/src/option.js). The table of
// samples decides what is drawn, so a new probe gets its plot without a line here.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// The unit of latencies and of what timing adds to them.
inline constexpr const char* kCycles = "cycles";

// An axis starts at zero if its least sample is a smaller part of its greatest than this. Samples far from zero would
// be a flat line on such an axis.
inline constexpr double kStartsAtNothing = 0.4;

struct Axis {
  std::string column;
  std::string label;  // "footprint", "latency"
  std::string unit;   // "B", "cycles", "" for counts and names
  bool logarithmic = false;
};

// The value, an edge, a level: what the samples led to.
struct ChartMark {
  bool across = false;  // a horizontal line at a y; else a vertical one at an x
  std::string label;
  double value = 0;
  std::optional<double> low;  // its interval
  std::optional<double> high;
  bool is_value = false;  // the attribute's own
};

// A line: those rows of the samples that have these values in these columns, or all rows.
struct Series {
  std::string label;
  std::string column;  // its y
  std::vector<std::pair<std::string, double>> where = {};
};

struct Chart {
  std::string title;  // "L1 data cache: size"
  Plot plot = Plot::kLine;
  SampleTable samples;  // as they are drawn: latencies are without the timer, as values are
  Axis x;
  Axis y;                                  // the counts of Plot::kBars
  Axis weight;                             // the counts of Plot::kDensity, the values of Plot::kMap
  std::vector<Series> series;              // empty for Plot::kDensity and Plot::kMap
  double timer_cycles = 0;                 // was subtracted from the raw latencies
  std::vector<std::string> timed_columns;  // the columns that it was subtracted from
  std::size_t series_left_out = 0;         // of a table with more combinations than can be told apart
  std::vector<ChartMark> marks;            // within the samples, or so near that the axis is extended to them
  std::vector<ChartMark> beyond;           // on an axis that holds these, too, the samples would be a flat line

  // The samples of one column; empty where there is no such column.
  [[nodiscard]] const std::vector<double>& column(std::string_view name) const;
};

// One for each table of samples that says what its plot is and has the columns for it. `name` is the attribute's, for
// the mark at its value.
[[nodiscard]] std::vector<Chart> charts_of(const std::string& title, const std::string& name,
                                           const Attribute& attribute);

using Points = std::vector<std::pair<double, double>>;

// The points of a line that are finite, in the order of the samples.
[[nodiscard]] Points points_of(const Chart& chart, const Series& series);

// A chart without lines yet, whose samples are made for it. No attribute has them.
[[nodiscard]] Chart empty_chart(std::string title, std::string table, Column x, Column y);
// Adds a line to such a chart. Its samples have `number` in the column "line".
void add_line(const std::string& label, double number, const Points& points, Chart& chart);

// The finite numbers of what lies along an axis.
struct Range {
  double least = INFINITY;
  double greatest = -INFINITY;
  void add(double value);
  void add(const std::vector<double>& values);
  [[nodiscard]] bool empty() const { return !(least <= greatest); }
  // Whether all are positive and the greatest is at least so many times the least: a logarithmic axis shows them
  // better.
  [[nodiscard]] bool spans(double times) const { return least > 0 && greatest >= times * least; }
};
[[nodiscard]] Range range_of(const std::vector<double>& values);

}  // namespace gputopo::report
