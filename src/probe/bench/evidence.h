// What attributes are made of: values with what they rest on, and tables of samples, which the plots of reports draw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gputopo/model.h"
#include "probe/bench/conditions.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

// A measured attribute, and what held while the programs behind it ran.
[[nodiscard]] Attribute measured(const Conditions& conditions, Value value, std::string unit,
                                 std::optional<stats::Interval> interval, std::string method);
// A whole number, which is exact: the interval is the value.
[[nodiscard]] Attribute measured_exactly(const Conditions& conditions, std::int64_t value, std::string unit,
                                         std::string method);

// What was varied.
[[nodiscard]] inline Column axis(std::string name, std::string quantity, std::string unit = "") {
  return {std::move(name), ColumnRole::kAxis, std::move(quantity), std::move(unit)};
}
// What was varied too: rows that are alike in it are one curve.
[[nodiscard]] inline Column series(std::string name, std::string quantity, std::string unit = "") {
  return {std::move(name), ColumnRole::kSeries, std::move(quantity), std::move(unit)};
}
// What was measured.
[[nodiscard]] inline Column values(std::string name, std::string quantity, std::string unit = "") {
  return {std::move(name), ColumnRole::kValue, std::move(quantity), std::move(unit)};
}

// A table without rows yet.
[[nodiscard]] inline SampleTable make_table(std::string name, Plot plot, std::vector<Column> columns) {
  SampleTable table{.name = std::move(name), .plot = plot, .columns = std::move(columns)};
  table.data.resize(table.columns.size());
  return table;
}

// Columns that several probes have.
[[nodiscard]] inline Column footprint_axis() { return axis("footprint_bytes", "footprint", "B"); }
[[nodiscard]] inline Column raw_latency_axis() { return axis("raw_latency_cycles", "raw latency", "cycles"); }
[[nodiscard]] inline Column load_counts() { return values("loads", "loads"); }
[[nodiscard]] inline Column sm_axis() { return axis("sm", "sm"); }

}  // namespace gputopo::probe
