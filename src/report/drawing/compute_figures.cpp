#include "report/drawing/compute_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "gputopo/catalogue.h"
#include "gputopo/operation.h"
#include "report/drawing/draw.h"
#include "report/words/hierarchy.h"
#include "report/words/text_table.h"
#include "report/words/units.h"
#include "report/words/values.h"

namespace gputopo::report {
namespace {

constexpr double kFigureWidth = 760;

// ---- The units ----

struct ExecutionUnit {
  std::string name;  // "alu"; empty if the field has no name
  std::vector<std::string> operations;
};

// Parses "alu: lop3.b32 min.f32".
ExecutionUnit unit_of(const std::string& text) {
  ExecutionUnit unit;
  std::size_t at = text.find(": ");
  if (at != std::string::npos) unit.name = text.substr(0, at);
  at = at == std::string::npos ? 0 : at + 2;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) unit.operations.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return unit;
}

std::vector<ExecutionUnit> execution_units_of(const Topology& topology) {
  std::vector<ExecutionUnit> units;
  const Attribute* pipes = find(topology.compute, AttributeId::kPipes);
  const auto* texts = pipes == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&pipes->value);
  if (texts == nullptr) return units;
  for (const std::string& text : *texts) {
    if (ExecutionUnit unit = unit_of(text); !unit.operations.empty()) units.push_back(std::move(unit));
  }
  return units;
}

std::vector<std::string> texts_of_detail(const Attribute& attribute, std::string_view name) {
  const Value* detail = attribute.find_detail(name);
  const auto* texts = detail == nullptr ? nullptr : std::get_if<std::vector<std::string>>(detail);
  return texts == nullptr ? std::vector<std::string>{} : *texts;
}

// Extra time of a pair, as a fraction of the shorter operation's time, by indices of the tried operations.
using Pairs = std::map<std::pair<std::size_t, std::size_t>, double>;

// Leaves out pairs that took as long as issuing both takes, because they reveal nothing.
Pairs pairs_of(const Attribute& pipes, const std::vector<std::string>& names) {
  const std::size_t operations = names.size();
  const std::vector<std::string> untold = texts_of_detail(pipes, "undecided_pairs");
  const auto is_untold = [&](const std::string& a, const std::string& b) {
    return std::ranges::find(untold, a + " " + b) != untold.end();
  };
  Pairs pairs;
  for (const SampleTable& table : pipes.samples) {
    if (table.plot != Plot::kMap || table.columns.size() != 3) continue;
    for (std::size_t r = 0; r < table.row_count(); ++r) {
      const double first = table.data[0][r];
      const double second = table.data[1][r];
      const double part = table.data[2][r];
      const auto is_place = [&](double place) { return place >= 0 && place < static_cast<double>(operations); };
      if (!is_place(first) || !is_place(second) || !std::isfinite(part)) continue;
      const std::string& a = names[static_cast<std::size_t>(first)];
      const std::string& b = names[static_cast<std::size_t>(second)];
      if (is_untold(a, b) || is_untold(b, a)) continue;
      pairs[{static_cast<std::size_t>(first), static_cast<std::size_t>(second)}] = std::clamp(part, 0.0, 1.0);
    }
  }
  return pairs;
}

struct MatrixOrder {
  std::vector<std::size_t> places;  // indices among the tried operations
  struct Block {
    std::string name;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::vector<Block> blocks;
};

MatrixOrder order_of(const std::vector<ExecutionUnit>& units, const std::vector<std::string>& operations) {
  MatrixOrder order;
  std::set<std::size_t> placed;
  for (const ExecutionUnit& unit : units) {
    const std::size_t begin = order.places.size();
    for (const std::string& name : unit.operations) {
      const auto found = std::ranges::find(operations, name);
      const auto place = static_cast<std::size_t>(found - operations.begin());
      if (found != operations.end() && placed.insert(place).second) order.places.push_back(place);
    }
    if (order.places.size() > begin) order.blocks.push_back({unit.name, begin, order.places.size()});
  }
  for (std::size_t place = 0; place < operations.size(); ++place) {
    if (!placed.contains(place)) order.places.push_back(place);
  }
  return order;
}

constexpr double kCell = 18;
constexpr double kUnitRoom = 62;
constexpr double kNameRoom = 172;

// One path per tenth: hundreds of elements with equal attributes would dominate the figure's size.
Markup matrix_cells(const MatrixOrder& order, const Pairs& pairs, double left, double top) {
  constexpr int kSteps = 10;
  std::map<int, std::string> by_step;
  std::string unknown;
  for (std::size_t row = 0; row < order.places.size(); ++row) {
    for (std::size_t column = 0; column < order.places.size(); ++column) {
      const auto pair = pairs.find({order.places[row], order.places[column]});
      std::string& path = pair == pairs.end() ? unknown : by_step[static_cast<int>(std::lround(pair->second * kSteps))];
      constexpr double kInside = kCell - 2;
      path += path_box(left + static_cast<double>(column) * kCell + 1, top + static_cast<double>(row) * kCell + 1,
                       kInside, kInside);
    }
  }
  Markup text;
  for (const auto& [step, path] : by_step) {
    // A cell stays visible even if the pair shares nothing.
    constexpr double kFaintest = 0.06;
    text += svg_dots(std::max(static_cast<double>(step) / kSteps, kFaintest), path);
  }
  if (!unknown.empty()) text += markup("<path class=\"cell unknown\" d=\"{}\"/>\n", unknown);
  return text;
}

// ---- Peaks ----

struct Bar {
  std::string name;
  const Attribute* peak;
};

std::vector<Bar> peaks_of(const Topology& topology) {
  std::vector<Bar> bars;
  const MemoryElement* peaks = topology.find_memory(ElementId::kPeaks);
  if (peaks == nullptr) return bars;
  for (const auto& [id, attribute] : peaks->attributes) {
    if (attribute.available() && attribute.number() && *attribute.number() > 0) {
      bars.push_back({readable(id), &attribute});
    }
  }
  std::ranges::stable_sort(bars, std::ranges::greater(), [](const Bar& bar) { return *bar.peak->number(); });
  return bars;
}

// ---- Curves ----

// Adds a line unless one of its numbers cannot be drawn.
void add_checked_line(const std::string& label, const std::vector<double>& xs, const std::vector<double>& ys,
                      Chart& chart) {
  if (xs.size() != ys.size() || xs.size() < 2) return;
  Points points;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!(xs[i] > 0) || !std::isfinite(xs[i]) || !(ys[i] > 0) || !std::isfinite(ys[i])) return;
    points.emplace_back(xs[i], ys[i]);
  }
  add_line(label, static_cast<double>(chart.series.size()), points, chart);
}

// A curve that does not change shows no more than its value.
void add_unless_flat(Chart chart, std::vector<Chart>& curves) {
  constexpr double kVaries = 1.05;
  constexpr double kManyTimes = 4;  // throughputs of operations differ by a factor of a thousand
  const Range range = range_of(chart.column(chart.y.column));
  if (!range.spans(kVaries)) return;
  chart.x.logarithmic = true;
  chart.y.logarithmic = range.spans(kManyTimes);
  curves.push_back(std::move(chart));
}

// Returns one operation per unit, or one per class if the report has no units.
std::vector<std::string> shown_operations(const Topology& topology) {
  std::vector<std::string> names;
  for (const ExecutionUnit& unit : execution_units_of(topology)) names.push_back(unit.operations.front());
  if (!names.empty()) return names;
  std::set<OperationClass> seen;
  for (const Instruction& instruction : topology.instructions) {
    const OperationInfo* info = find_operation(instruction.id);
    const Attribute* throughput = find(instruction.attributes, AttributeId::kThroughput);
    if (info == nullptr || throughput == nullptr || !throughput->available()) continue;
    if (seen.insert(info->of).second) names.push_back(instruction.id);
  }
  return names;
}

}  // namespace

Markup peaks_svg(const Topology& topology) {
  const std::vector<Bar> bars = peaks_of(topology);
  if (bars.empty()) return {};
  constexpr double kRow = 24;
  constexpr double kNames = 150;
  constexpr double kValues = 120;
  const double room = kFigureWidth - kNames - kValues;
  const double most = *bars.front().peak->number();
  Markup text = svg_opening_in_page("Bar chart of peak arithmetic throughput", kFigureWidth,
                                    kRow * static_cast<double>(bars.size()) + 4);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double top = kRow * static_cast<double>(i) + 4;
    constexpr double kLeastWidth = 1;
    const double width = std::max(room * *bars[i].peak->number() / most, kLeastWidth);
    text += svg_text(kNames - 8, top + 13, "small", bars[i].name, " text-anchor=\"end\"");
    text +=
        markup("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"16\" class=\"dots\"/>\n", px(kNames), px(top), px(width));
    const std::string signs = marks(*bars[i].peak);
    text += svg_text(kNames + width + 6, top + 13, "small strong",
                     value_text(*bars[i].peak) + (signs.empty() ? "" : " " + signs));
  }
  return text + "</svg>\n";
}

Markup pipes_svg(const Topology& topology) {
  const std::vector<ExecutionUnit> units = execution_units_of(topology);
  const Attribute* pipes = find(topology.compute, AttributeId::kPipes);
  const std::vector<std::string> operations =
      pipes == nullptr ? std::vector<std::string>{} : texts_of_detail(*pipes, "operations");
  constexpr std::size_t kMostDrawn = 64;
  if (units.empty() || operations.empty() || operations.size() > kMostDrawn) return {};
  const Pairs pairs = pairs_of(*pipes, operations);
  if (pairs.empty()) return {};
  const MatrixOrder order = order_of(units, operations);
  const double side = kCell * static_cast<double>(order.places.size());
  const double left = kUnitRoom + kNameRoom;
  constexpr double kTop = kNameRoom;
  constexpr double kLegend = 26;
  Markup text = svg_opening_in_page("Operations that share a unit", left + side + 8, kTop + side + kLegend);
  text += matrix_cells(order, pairs, left, kTop);
  for (std::size_t i = 0; i < order.places.size(); ++i) {
    const std::string& name = operations[order.places[i]];
    const double middle = (static_cast<double>(i) + 0.5) * kCell + 4;
    text += svg_text(left - 6, kTop + middle, "small", name, " text-anchor=\"end\"");
    const double x = left + middle;
    text += markup("<text x=\"{0}\" y=\"{1}\" class=\"small\" transform=\"rotate(-90 {0} {1})\">{2}</text>\n", px(x),
                   px(kTop - 6), name);
  }
  for (const MatrixOrder::Block& block : order.blocks) {
    const double begin = static_cast<double>(block.begin) * kCell;
    const double length = static_cast<double>(block.end - block.begin) * kCell;
    text += markup("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"mark\"/>\n", px(left + begin),
                   px(kTop + begin), px(length), px(length));
    text += svg_text(4, kTop + begin + length / 2 + 4, "small strong", block.name);
  }
  text += svg_text(4, kTop + side + 18, "small faint",
                   "framed: shared unit; dark: no faster together than in sequence; dashed: undecided");
  return text + "</svg>\n";
}

std::vector<Chart> detail_curves(const Topology& topology) {
  std::vector<Chart> curves;
  const Column warps{"warps", ColumnRole::kAxis, "warps per SM", ""};
  constexpr std::size_t kMostLines = 10;
  Chart rates = empty_chart("Throughput over warps", "throughput_by_warps", warps,
                            {"ops_per_clk", ColumnRole::kValue, "throughput", "ops/clk"});
  std::vector<std::string> names = shown_operations(topology);
  names.resize(std::min(names.size(), kMostLines));
  for (const std::string& name : names) {
    const Instruction* instruction = topology.find_instruction(name);
    if (instruction == nullptr) continue;
    const Attribute* throughput = find(instruction->attributes, AttributeId::kThroughput);
    add_checked_line(name, numbers_of(throughput, "warps_tried"), numbers_of(throughput, "throughput_by_warps"), rates);
  }
  add_unless_flat(std::move(rates), curves);
  Chart barrier = empty_chart("Barrier latency over warps", "barrier_by_warps", warps,
                              {"latency_cycles", ColumnRole::kValue, "latency", kCycles});
  const Attribute* latency = topology.find_attribute(ElementId::kControl, AttributeId::kBarrierLatency);
  add_checked_line("barrier", numbers_of(latency, "warps_tried"), numbers_of(latency, "cycles_by_warps"), barrier);
  add_unless_flat(std::move(barrier), curves);
  Chart branch = empty_chart("Branch time over number of control paths", "branch_by_sides",
                             {"sides", ColumnRole::kAxis, "control paths of the branch", ""},
                             {"branch_cycles", ColumnRole::kValue, "time", kCycles});
  const Attribute* cost = topology.find_attribute(ElementId::kControl, AttributeId::kDivergenceCost);
  add_checked_line("branch", numbers_of(cost, "paths_tried"), numbers_of(cost, "cycles_by_paths"), branch);
  add_unless_flat(std::move(branch), curves);
  return curves;
}

}  // namespace gputopo::report
