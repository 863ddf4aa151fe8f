// What to draw of a table of samples: decided once, by what the table says of itself and its columns, for the plots in
// Markdown and those in HTML alike. New probes get their plots without a line here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// The unit of latencies and of what timing adds to them.
inline constexpr const char* kCycles = "cycles";

// An axis whose least sample is a smaller part of its greatest than this starts at nothing; what is far from nothing
// would be a flat line.
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

struct Series {
  std::string label;
  std::string column;  // of its y
  // Only the rows with this value in each of these columns; empty: all.
  std::vector<std::pair<std::string, double>> where;
};

struct Chart {
  std::string title;  // "L1 data cache: size"
  std::string table;  // name of the SampleTable
  Plot plot = Plot::kLine;
  Axis x;
  Axis y;                                  // of Plot::kBars: the counts
  Axis weight;                             // of Plot::kDensity: the counts; of Plot::kMap: the values
  std::vector<Series> series;              // but of Plot::kDensity and Plot::kMap
  double timer_cycles = 0;                 // what is taken off the columns of raw latencies, as the value has it
  std::vector<std::string> timed_columns;  // these columns
  std::size_t series_left_out = 0;         // of a table with more combinations than can be told apart
  std::vector<ChartMark> marks;            // within the samples, or so near that the axis is extended to them
  std::vector<ChartMark> beyond;           // on an axis that holds these, too, the samples would be a flat line
};

// One for each table of samples that says what its plot is and has the columns for it. `name` is the attribute's, for
// the mark at its value.
[[nodiscard]] std::vector<Chart> charts_of(const std::string& title, const std::string& name,
                                           const Attribute& attribute);

// A column of the chart's table as it was measured.
[[nodiscard]] const std::vector<double>* find_column(const Attribute& attribute, const Chart& chart,
                                                     std::string_view column);
// The same as it is drawn, without the timer; empty where there is no such column.
[[nodiscard]] std::vector<double> drawn_column(const Attribute& attribute, const Chart& chart, std::string_view column);

}  // namespace gputopo::report
