// Builds attributes: values with their evidence, and the sample tables that reports plot.
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

// A measured attribute with the conditions of the programs behind it.
[[nodiscard]] Attribute measured(const Conditions& conditions, Value value, std::string unit,
                                 std::optional<stats::Interval> interval, std::string method);
// An exact whole number, whose interval is the value itself.
[[nodiscard]] Attribute measured_exactly(const Conditions& conditions, std::int64_t value, std::string unit,
                                         std::string method);

// The quantity that was varied.
[[nodiscard]] inline Column axis(std::string name, std::string quantity, std::string unit = "") {
  return {std::move(name), ColumnRole::kAxis, std::move(quantity), std::move(unit)};
}
// A second varied quantity: rows with the same value of it form one curve.
[[nodiscard]] inline Column series(std::string name, std::string quantity, std::string unit = "") {
  return {std::move(name), ColumnRole::kSeries, std::move(quantity), std::move(unit)};
}
[[nodiscard]] inline Column values(std::string name, std::string quantity, std::string unit = "") {
  return {std::move(name), ColumnRole::kValue, std::move(quantity), std::move(unit)};
}

[[nodiscard]] inline SampleTable make_table(std::string name, Plot plot, std::vector<Column> columns) {
  SampleTable table{.name = std::move(name), .plot = plot, .columns = std::move(columns)};
  table.data.resize(table.columns.size());
  return table;
}

// Columns of several probes.
[[nodiscard]] inline Column footprint_axis() { return axis("footprint_bytes", "footprint", "B"); }
[[nodiscard]] inline Column raw_latency_axis() { return axis("raw_latency_cycles", "raw latency", "cycles"); }
[[nodiscard]] inline Column load_counts() { return values("loads", "loads"); }
[[nodiscard]] inline Column sm_axis() { return axis("sm", "sm"); }

}  // namespace gputopo::probe
