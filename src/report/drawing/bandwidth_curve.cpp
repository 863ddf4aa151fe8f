#include "report/drawing/bandwidth_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "gputopo/catalogue.h"
#include "report/drawing/curve.h"
#include "report/words/columns.h"
#include "report/words/hierarchy.h"
#include "report/words/units.h"

namespace gputopo::report {
namespace {

constexpr const char* kColdColumn = "cold_footprint_bytes";

struct RateLine {
  bool is_cold = false;  // each pass reads data that no cache holds
  double sms = 0;        // streaming SMs
  friend auto operator<=>(const RateLine&, const RateLine&) = default;
};

using Rates = std::map<RateLine, std::map<double, double>>;

// Adds a stream sweep: footprint, number of SMs, rate.
void add_sweep(const SampleTable& table, Rates& rates) {
  const std::vector<std::size_t> axes = columns_with(table, ColumnRole::kAxis);
  const std::vector<std::size_t> series = columns_with(table, ColumnRole::kSeries);
  const std::vector<std::size_t> values = columns_with(table, ColumnRole::kValue);
  if (table.plot != Plot::kLine || axes.size() != 1 || series.size() != 1 || values.size() != 1) return;
  const bool is_sweep = table.columns[axes[0]].unit == "B" && table.columns[series[0]].name == "sms" &&
                        table.columns[values[0]].unit == "B/s";
  if (!is_sweep) return;
  const bool is_cold = table.columns[axes[0]].name == kColdColumn;
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    const double footprint = table.data[axes[0]][r];
    const double sms = table.data[series[0]][r];
    const double rate = table.data[values[0]][r];
    if (footprint > 0 && std::isfinite(footprint) && sms >= 1 && std::isfinite(sms) && rate > 0 &&
        std::isfinite(rate)) {
      rates[{is_cold, sms}][footprint] = rate;
    }
  }
}

std::string name_of_line(const RateLine& line, double all, const std::string& unit) {
  const char* cold = line.is_cold ? ", cold" : "";
  if (line.sms == 1) return fmt::format("one {}{}", unit, cold);
  return fmt::format("{}{} {}s{}", line.sms == all ? "all " : "", significant(line.sms, 6), unit, cold);
}

}  // namespace

std::optional<Chart> bandwidth_curve(const Topology& topology) {
  Rates rates;
  for (const MemoryElement& element : topology.memory) {
    for (const AttributeId id : {AttributeId::kReadBandwidth, AttributeId::kSmReadBandwidth}) {
      const Attribute* bandwidth = find(element.attributes, id);
      if (bandwidth == nullptr) continue;
      for (const SampleTable& table : bandwidth->samples) add_sweep(table, rates);
    }
  }
  constexpr std::size_t kMostLines = 8;  // number of colors
  if (rates.empty() || rates.size() > kMostLines) return std::nullopt;
  const Attribute* count = find(topology.compute, AttributeId::kSmCount);
  const double all = count == nullptr ? 0 : count->number().value_or(0);
  Chart chart =
      empty_chart("Bandwidth of all levels", "bandwidth_curve", {kFootprintColumn, ColumnRole::kAxis, "footprint", "B"},
                  {"bytes_per_second", ColumnRole::kValue, "bandwidth", "B/s"});
  chart.x.logarithmic = chart.y.logarithmic = true;
  for (const auto& [line, by_footprint] : rates) {
    add_line(name_of_line(line, all, unit_name(topology.vendor)), static_cast<double>(chart.series.size()),
             {by_footprint.begin(), by_footprint.end()}, chart);
  }
  const Range footprints = range_of(chart.column(kFootprintColumn));
  for (ChartMark& mark : capacity_marks(topology)) {
    if (mark.value >= footprints.least && mark.value <= footprints.greatest) chart.marks.push_back(std::move(mark));
  }
  return chart;
}

}  // namespace gputopo::report
