#include "report/diff_plots.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/compare/compared_curves.h"
#include "report/compare/spread.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::report {
namespace {

std::vector<AttributeName> attributes_with_samples(const Topology& topology) {
  std::vector<AttributeName> names;
  const auto add = [&](const std::string& group, const AttributeMap& attributes) {
    for (const auto& [id, attribute] : attributes) {
      if (!attribute.samples.empty()) names.emplace_back(group, id);
    }
  };
  for (const MemoryElement& element : topology.memory) add(element.id, element.attributes);
  add("gpu", topology.device);
  add("compute", topology.compute);
  for (const Instruction& instruction : topology.instructions) {
    add(instruction_group(instruction), instruction.attributes);
  }
  return names;
}

std::string title_of(const Topology& topology, const std::string& group) {
  if (group == "gpu") return "Device";
  if (group == "compute") return "Compute";
  if (const Instruction* instruction = instruction_of(topology, group)) return instruction->title;
  return topology.find_memory(group)->title;
}

// Heading above one of several plots: the name of its report.
std::string side_heading(const NamedReport& report, const std::string& name) {
  return report.topology.simulated ? "SIMULATED " + name : name;
}

// Ranks attributes by their first appearance among the differences. Attributes without differences come last.
class DifferenceRanks {
 public:
  explicit DifferenceRanks(const std::vector<Comparison>& comparisons) {
    for (const Comparison& comparison : comparisons) {
      for (const Difference& difference : comparison.differences) {
        ranks_.try_emplace({difference.group, difference.attribute}, ranks_.size());
      }
    }
  }
  [[nodiscard]] std::size_t of(const AttributeName& name) const {
    const auto found = ranks_.find(name);
    return found == ranks_.end() ? ranks_.size() : found->second;
  }
  [[nodiscard]] bool differs(const AttributeName& name) const { return ranks_.contains(name); }

 private:
  std::map<AttributeName, std::size_t> ranks_;
};

// Plot `index` of an attribute from every report that has it, also added to `charts`; nothing if fewer than two do.
Markup figures_beside(const std::vector<NamedReport>& reports, const AttributeName& name, const std::string& title,
                      std::size_t index, std::vector<PlacedChart>& charts) {
  const auto& [group, id] = name;
  const std::vector<std::string> names = short_names(reports);
  const std::size_t before = charts.size();
  Markup figures;
  for (std::size_t r = 0; r < reports.size(); ++r) {
    const Attribute* attribute = find_value(reports[r].topology, group, id);
    if (attribute == nullptr) continue;
    std::vector<Chart> own = charts_of(title, readable(id), *attribute);
    if (index >= own.size()) continue;
    own[index].title += fmt::format(" ({})", names[r]);
    figures +=
        markup("<div><h4>{}</h4>{}</div>", side_heading(reports[r], names[r]), figure(charts.size(), own[index]));
    charts.push_back({std::move(own[index]), r, group, id});
  }
  if (charts.size() >= before + 2) return figures;
  charts.resize(before);
  return {};
}

}  // namespace

PlotPairs plot_pairs(const std::vector<NamedReport>& reports, const std::vector<Comparison>& comparisons,
                     std::vector<PlacedChart>& charts) {
  const Topology& first = reports.front().topology;
  const DifferenceRanks ranks(comparisons);
  std::vector<AttributeName> names = attributes_with_samples(first);
  std::ranges::stable_sort(names, {}, [&](const AttributeName& name) { return ranks.of(name); });

  PlotPairs pairs;
  std::size_t number = 0;
  for (const AttributeName& name : names) {
    const auto& [group, id] = name;
    const std::string title = title_of(first, group) + ": " + readable(id);
    const std::size_t count = charts_of(title, readable(id), *find_value(first, group, id)).size();
    for (std::size_t c = 0; c < count; ++c) {
      const Markup figures = figures_beside(reports, name, title, c, charts);
      if (figures.empty()) continue;
      const std::string anchor = fmt::format("pair-{}", number++);
      pairs.anchors.try_emplace(name, anchor);
      pairs.text += markup("<h3>{}{}</h3><div class=\"pair\" id=\"{}\">{}</div>\n", title,
                           ranks.differs(name) ? ProgramText(" <span class=\"flag\">differs</span>") : ProgramText(""),
                           anchor, figures);
    }
  }
  return pairs;
}

Markup curves_section(const std::vector<NamedReport>& reports, std::vector<PlacedChart>& charts) {
  std::vector<const Topology*> topologies;
  std::vector<std::string> names = short_names(reports);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    topologies.push_back(&reports[i].topology);
    names[i] = side_heading(reports[i], names[i]);
  }
  Markup figures;
  for (Chart& curve : compared_curves(topologies, names)) {
    figures += figure(charts.size(), curve);
    charts.push_back({.chart = std::move(curve), .device = fmt::format("{}", fmt::join(names, ", "))});
  }
  if (figures.empty()) return {};
  return markup(
      "<section aria-labelledby=\"h-curves\"><h2 id=\"h-curves\">Sweeps over footprints</h2>\n<p "
      "class=\"hint\">The timer cost of each report is subtracted.</p>\n<div class=\"beside "
      "curves\">{}</div></section>\n",
      figures);
}

}  // namespace gputopo::report
