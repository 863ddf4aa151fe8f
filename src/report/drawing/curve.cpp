#include "report/drawing/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gputopo/catalogue.h"
#include "gputopo/report.h"
#include "report/drawing/bandwidth_curve.h"
#include "report/drawing/plot.h"
#include "report/words/columns.h"
#include "report/words/device_facts.h"
#include "report/words/hierarchy.h"
#include "report/words/one_cache.h"
#include "report/words/text_table.h"
#include "report/words/values.h"

namespace gputopo {
namespace {

using report::Chart;
using report::ChartMark;
using report::kCycles;
using report::range_of;

// Mean latency of the loads, by footprint.
using Means = std::map<double, double>;

struct CurveLine {
  std::string name;
  Means means;
};

// Means of a sweep's histograms: the count of each latency at each footprint.
Means means_of(const SampleTable& table) {
  const std::vector<std::size_t> axes = report::columns_with(table, ColumnRole::kAxis);
  const std::vector<std::size_t> counts = report::columns_with(table, ColumnRole::kValue);
  if (table.plot != Plot::kDensity || axes.size() < 2 || counts.empty() || table.columns[axes[0]].unit != "B" ||
      table.columns[axes[1]].unit != kCycles) {
    return {};
  }
  std::map<double, std::pair<double, double>> sums;  // sum of latencies, number of loads
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    const double footprint = table.data[axes[0]][r];
    const double latency = table.data[axes[1]][r] - table.timer_cycles;
    const double loads = table.data[counts[0]][r];
    if (!(footprint > 0) || !std::isfinite(footprint) || !(latency > 0) || !(loads > 0)) continue;
    auto& [latencies, all] = sums[footprint];
    latencies += latency * loads;
    all += loads;
  }
  Means means;
  for (const auto& [footprint, sum] : sums) {
    if (std::isfinite(sum.first) && std::isfinite(sum.second)) means[footprint] = sum.first / sum.second;
  }
  return means;
}

std::string name_of(Space space) {
  switch (space) {
    case Space::kGlobal:
      return "global loads";
    case Space::kGlobalBypassL1:
      return "global loads that bypass L1";
    case Space::kReadOnly:
      return "read-only loads";
    case Space::kTexture:
      return "texture loads";
    case Space::kConstant:
      return "constant loads";
    case Space::kScalar:
      return "scalar loads";
    case Space::kLocal:
      return "local loads";
    case Space::kShared:
      break;
  }
  return std::string(to_string(space));
}

const ElementInfo* data_cache(const MemoryElement& element) {
  const ElementInfo* info = find_element(element.id);
  return info != nullptr && info->kind == ElementKind::kDataCache && info->space ? info : nullptr;
}

// Adds the cost of TLB misses to the latency of device memory, for footprints beyond the caches' sweeps.
CurveLine translation_line(const Topology& topology, double beyond) {
  CurveLine line{"device memory plus TLB misses", {}};
  const std::optional<double> memory = report::number_of(topology, ElementId::kDevice, AttributeId::kLatency);
  if (!memory) return line;
  for (const MemoryElement& element : topology.memory) {
    const Attribute* reach = find(element.attributes, AttributeId::kReach);
    if (reach == nullptr) continue;
    for (const SampleTable& table : reach->samples) {
      const std::vector<std::size_t> axes = report::columns_with(table, ColumnRole::kAxis);
      const std::vector<std::size_t> values = report::columns_with(table, ColumnRole::kValue);
      if (axes.size() != 1 || values.empty() || table.columns[axes[0]].unit != "B" ||
          table.columns[values[0]].unit != kCycles) {
        continue;
      }
      for (std::size_t r = 0; r < table.row_count(); ++r) {
        const double bytes = table.data[axes[0]][r];
        const double cycles = *memory + table.data[values[0]][r];
        if (bytes > beyond && std::isfinite(bytes) && std::isfinite(cycles) && cycles > 0) line.means[bytes] = cycles;
      }
    }
  }
  return line;
}

// One line per kind of load. The sweep through L1 continues with loads that bypass L1: nothing hits in L1 there.
std::vector<CurveLine> lines_of(const Topology& topology) {
  std::map<Space, CurveLine> by_space;
  std::vector<Space> order;
  for (const MemoryElement& element : topology.memory) {
    const ElementInfo* info = data_cache(element);
    const Attribute* size = find(element.attributes, AttributeId::kSize);
    // One sweep finds all levels of a space.
    if (info == nullptr || size == nullptr || by_space.contains(*info->space)) continue;
    for (const SampleTable& table : size->samples) {
      Means means = means_of(table);
      if (means.empty()) continue;
      by_space[*info->space] = {name_of(*info->space), std::move(means)};
      order.push_back(*info->space);
      break;
    }
  }
  const auto through = by_space.find(Space::kGlobal);
  const auto past = by_space.find(Space::kGlobalBypassL1);
  if (through != by_space.end() && past != by_space.end()) {
    const double last = through->second.means.rbegin()->first;
    through->second.means.insert(past->second.means.upper_bound(last), past->second.means.end());
    std::erase(order, Space::kGlobalBypassL1);
  }
  std::vector<CurveLine> lines;
  double last = 0;
  for (const Space space : order) {
    lines.push_back(by_space.at(space));
    last = std::max(last, lines.back().means.rbegin()->first);
  }
  if (lines.empty()) return lines;
  if (CurveLine misses = translation_line(topology, last); !misses.means.empty()) lines.push_back(std::move(misses));
  return lines;
}

// ---- Marks ----

// A cache under another name already has its marks.
class Marked {
 public:
  explicit Marked(const Topology& topology) : topology_(topology) {}
  bool is_new(const MemoryElement& element) {
    const std::vector<std::string> partners = report::partners_of(topology_, element);
    seen_.insert(element.id);
    return std::ranges::none_of(partners, [&](const std::string& id) { return seen_.contains(id); });
  }

 private:
  const Topology& topology_;
  std::set<std::string> seen_;
};

void add_capacity(const MemoryElement& element, std::vector<ChartMark>& marks) {
  const Attribute* size = find(element.attributes, AttributeId::kSize);
  if (size == nullptr || !size->number()) return;
  const std::optional<double> first = report::detail_of(size, "first_miss_bytes");
  const std::optional<double> all = report::detail_of(size, "all_miss_bytes");
  const bool has_edges = first && all && *first < *all;
  ChartMark mark{.label = fmt::format("{} {}", element.title, report::value_text(*size)), .value = *size->number()};
  if (has_edges) {
    mark.low = first;
    mark.high = all;
  }
  marks.push_back(std::move(mark));
}

void add_latency(const MemoryElement& element, std::vector<ChartMark>& marks) {
  const Attribute* latency = find(element.attributes, AttributeId::kLatency);
  if (latency == nullptr || !latency->number()) return;
  const std::optional<double> far = report::far_latency(*latency);
  const auto add = [&](const char* part, double cycles) {
    marks.push_back({.across = true,
                     .label = fmt::format("{}{} {}", element.title, part, report::human_value(cycles, kCycles)),
                     .value = cycles});
  };
  add(far ? ", near" : "", *latency->number());
  if (far) add(", far", *far);
}

std::vector<ChartMark> marks_of_curve(const Topology& topology) {
  std::vector<ChartMark> marks;
  Marked marked(topology);
  for (const MemoryElement& element : topology.memory) {
    const ElementInfo* info = find_element(element.id);
    if (info == nullptr || (data_cache(element) != nullptr && !marked.is_new(element))) continue;
    if (data_cache(element) != nullptr) {
      add_capacity(element, marks);
      add_latency(element, marks);
    } else if (info->kind == ElementKind::kMemory) {
      add_latency(element, marks);
    } else if (const Attribute* reach = find(element.attributes, AttributeId::kReach);
               reach != nullptr && reach->number()) {
      marks.push_back({.label = fmt::format("{} reaches {}", element.title, report::value_text(*reach)),
                       .value = *reach->number()});
    }
  }
  std::ranges::stable_sort(marks, {}, &ChartMark::value);
  return marks;
}

bool is_within(const report::Range& samples, double value, double room) {
  return value >= samples.least / room && value <= samples.greatest * room;
}

}  // namespace

std::optional<Chart> report::latency_curve(const Topology& topology) {
  const std::vector<CurveLine> lines = lines_of(topology);
  if (lines.empty()) return std::nullopt;
  Chart chart = empty_chart("Latency of all levels", "curve", {kFootprintColumn, ColumnRole::kAxis, "footprint", "B"},
                            {"latency_cycles", ColumnRole::kValue, "latency", kCycles});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Points points(lines[i].means.begin(), lines[i].means.end());
    constexpr double kHundredths = 100;  // means are no more precise than hundredths
    for (auto& [footprint, cycles] : points) cycles = std::round(cycles * kHundredths) / kHundredths;
    add_line(lines[i].name, static_cast<double>(i), points, chart);
  }
  constexpr double kManyTimes = 4;
  const Range footprints = range_of(chart.column(chart.x.column));
  const Range latencies = range_of(chart.column(chart.y.column));
  chart.x.logarithmic = footprints.spans(kManyTimes);
  chart.y.logarithmic = latencies.spans(kManyTimes);
  for (ChartMark& mark : marks_of_curve(topology)) {
    constexpr double kRoom = 1.2;
    if (mark.across ? is_within(latencies, mark.value, kRoom) : is_within(footprints, mark.value, 1)) {
      chart.marks.push_back(std::move(mark));
    }
  }
  return chart;
}

std::vector<ChartMark> report::capacity_marks(const Topology& topology) {
  std::vector<ChartMark> marks;
  Marked marked(topology);
  for (const MemoryElement& element : topology.memory) {
    const ElementInfo* info = data_cache(element);
    if (info == nullptr || (info->space != Space::kGlobal && info->space != Space::kGlobalBypassL1)) continue;
    if (marked.is_new(element)) add_capacity(element, marks);
  }
  std::ranges::stable_sort(marks, {}, &ChartMark::value);
  return marks;
}

std::string report::curve_title(const Topology& topology, const std::string& quantity) {
  return fmt::format("{}: {} over footprint{}", device_title(topology), quantity,
                     topology.complete ? "" : ", INCOMPLETE");
}

std::vector<Chart> report::titled_curves(const Topology& topology) {
  std::vector<Chart> curves;
  for (auto* const make : {latency_curve, bandwidth_curve}) {
    std::optional<Chart> curve = make(topology);
    if (!curve) continue;
    curve->title = curve_title(topology, curve->y.label);
    curves.push_back(*std::move(curve));
  }
  return curves;
}

std::string to_curve_svg(const Topology& topology) {
  constexpr int kCharacters = 90;  // per line, as wide as the plot
  std::vector<std::string> notes;
  for (const std::string& warning : topology.warnings) {
    for (std::string& line : report::wrapped_lines("Warning: " + warning, kCharacters))
      notes.push_back(std::move(line));
  }
  std::vector<Chart> curves = report::titled_curves(topology);
  const bool has_latencies = !curves.empty() && curves.front().y.unit == kCycles;
  if (!has_latencies) curves.insert(curves.begin(), {.title = report::curve_title(topology)});
  return (report::kXmlOpening + report::plots_svg(curves, notes)).text();
}

}  // namespace gputopo
