// What to draw of a table of samples: decided once, by the names and units of its columns, for the plots in Markdown
// and those in HTML alike. New probes get their plots without a line here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

enum class ChartKind : std::uint8_t {
  kLine,     // y over x, a series for each of `series`
  kBars,     // a count for each x
  kDensity,  // a count for each pair of x and y: how often which latency came at which footprint
  kMap,      // a value for each pair of x and y, in a full grid
};
[[nodiscard]] std::string_view to_string(ChartKind kind);

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
  std::string table;  // name of the SampleTable; "" where the columns are lists in the attribute's details
  ChartKind kind = ChartKind::kLine;
  Axis x;
  Axis y;
  std::string weight;  // column of the count (kDensity) or the value (kMap)
  std::string weight_unit;
  std::vector<Series> series;
  bool points_only = false;         // nothing lies between two x: SMs have numbers and no order
  double timer_cycles = 0;          // that raw latencies hold and the value does not
  std::size_t series_left_out = 0;  // of a table with more combinations than can be told apart
  std::vector<ChartMark> marks;     // within the samples, or so near that the axis is extended to them
};

// One for each table of samples, and one for lists of equal length among the details. `name` is the attribute's, for
// the mark at its value.
[[nodiscard]] std::vector<Chart> charts_of(const std::string& title, const std::string& name,
                                           const Attribute& attribute);

// The columns of the chart's table, from the samples or the details.
[[nodiscard]] const std::vector<double>* find_column(const Attribute& attribute, const Chart& chart,
                                                     std::string_view column);

// A column's name as words and its unit: "footprint_bytes" is "footprint" in "B".
struct ColumnName {
  std::string label;
  std::string unit;
};
[[nodiscard]] ColumnName column_name(std::string_view column);

}  // namespace gputopo::report
