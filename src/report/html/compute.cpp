#include "report/html/compute.h"

#include <fmt/format.h>

#include <algorithm>

#include "gputopo/operation.h"
#include "report/drawing/compute_figures.h"
#include "report/drawing/markup.h"
#include "report/html/parts.h"
#include "report/words/hierarchy.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::report {
namespace {

bool is_known(const Instruction& instruction) {
  return std::ranges::any_of(instruction.attributes, [](const auto& entry) { return entry.second.available(); });
}

Markup drawn(const char* heading, const Markup& svg, const std::string& link, ProgramText words) {
  if (svg.empty()) return {};
  return markup(
      "<figure class=\"still\"><h3>{0}</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"Drawing: {0}\">{1}</div>\n<figcaption>{2} <a href=\"#{3}\">Evidence</a></figcaption></figure>\n",
      heading, svg, words, link);
}

std::string first_peak(const Topology& topology) {
  const MemoryElement* peaks = topology.find_memory(ElementId::kPeaks);
  if (peaks == nullptr) return "";
  const auto found =
      std::ranges::find_if(peaks->attributes, [](const auto& entry) { return entry.second.available(); });
  return found == peaks->attributes.end() ? "" : evidence_anchor(peaks->id, found->first);
}

Markup cell_of(const Instruction& instruction, AttributeId id, std::string& used) {
  const Attribute* attribute = find(instruction.attributes, id);
  if (attribute == nullptr || needs_no_reason(*attribute)) return {};
  const std::string name(to_string(id));
  const std::string signs = marks(*attribute);
  used += signs;
  return value_link(*attribute, instruction_group(instruction), name,
                    attribute->available() ? value_text(*attribute) : "?") +
         (signs.empty() ? Markup() : markup(" <span class=\"marks\">{}</span>", signs));
}

std::string machine_instructions(const Instruction& instruction) {
  const Attribute* throughput = find(instruction.attributes, AttributeId::kThroughput);
  const Value* count = throughput == nullptr ? nullptr : throughput->find_detail("machine_instructions");
  return count == nullptr ? "" : human_value(*count, "");
}

Markup row_of(const Instruction& instruction, std::string& used) {
  const OperationInfo* info = find_operation(instruction.id);
  const std::string of = info == nullptr ? "" : readable(to_string(info->of));
  const std::string type = info == nullptr ? "" : std::string(to_string(info->type));
  return markup(
      "<tr data-group=\"{7}\" data-of=\"{0}\" data-type=\"{1}\"><th "
      "scope=\"row\"><code>{2}</code></th><td>{3}</td><td>{0}</td><td>{1}</td><td class=\"number\">{4}</td><td "
      "class=\"number\">{5}</td><td class=\"number\">{6}</td></tr>\n",
      of, type, instruction.id, instruction.title, cell_of(instruction, AttributeId::kLatency, used),
      cell_of(instruction, AttributeId::kThroughput, used), machine_instructions(instruction),
      instruction_group(instruction));
}

Markup options_of(const std::vector<std::string>& names) {
  Markup options("<option value=\"\">all</option>");
  for (const std::string& name : names) options += markup("<option value=\"{0}\">{0}</option>", name);
  return options;
}

void add_once(std::vector<std::string>& names, std::string name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
}

Markup table_of_operations(const Topology& topology) {
  Markup rows;
  std::string used;
  std::size_t without = 0;
  std::vector<std::string> classes;
  std::vector<std::string> types;
  for (const Instruction& instruction : topology.instructions) {
    if (!is_known(instruction)) {
      ++without;
      continue;
    }
    rows += row_of(instruction, used);
    const OperationInfo* info = find_operation(instruction.id);
    if (info == nullptr) continue;
    add_once(classes, readable(to_string(info->of)));
    add_once(types, std::string(to_string(info->type)));
  }
  if (rows.empty()) return {};
  const std::string missing =
      without == 0 ? "" : fmt::format(" Operations without a value: {}. \"Every value\" gives the reasons.", without);
  return markup(
      "<h3>Operations</h3>\n<form class=\"filters\" id=\"operation-filters\" hidden><label>Search operations <input "
      "type=\"search\" id=\"operation-text\"></label>\n<label>Class <select "
      "id=\"operation-class\">{}</select></label>\n"
      "<label>Type <select id=\"operation-type\">{}</select></label>\n"
      "<button type=\"button\" id=\"export-operations\">CSV of these operations</button> <span class=\"hint\" "
      "id=\"operation-count\" aria-live=\"polite\"></span></form>\n"
      "<div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-label=\"Table of operations\"><table "
      "id=\"operations\"><thead><tr><th scope=\"col\">operation</th><th scope=\"col\">description</th><th "
      "scope=\"col\">class</th><th scope=\"col\">type</th><th scope=\"col\" class=\"number\">latency</th><th "
      "scope=\"col\" class=\"number\">throughput per SM</th><th scope=\"col\" class=\"number\">machine\n"
      "instructions</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n"
      "<p class=\"legend\">Operations are counted per lane; {}.{}</p>\n",
      options_of(classes), options_of(types), rows, marks_legend(used), missing);
}

}  // namespace

Section compute_section(const Topology& topology, std::vector<PlacedChart>& charts) {
  Markup text = drawn("Peak arithmetic throughput", peaks_svg(topology), first_peak(topology),
                      "The highest throughput of all SMs together. A fused multiply-add counts as two operations.");
  text += drawn("Operations that share a unit", pipes_svg(topology), evidence_anchor("compute", "pipes"),
                "Extra time of two operations that run together, as a fraction of the shorter operation's time.");
  Markup curves;
  for (Chart& curve : detail_curves(topology)) {
    curves += markup("<div><h3>{}</h3>\n{}</div>\n", curve.title, figure(charts.size(), curve));
    charts.push_back({std::move(curve)});
  }
  if (!curves.empty()) text += markup("<div class=\"beside\">\n{}</div>\n", curves);
  text += table_of_operations(topology);
  if (text.empty()) return {};
  return section("", "h-compute", "Compute", "\n" + text);
}

}  // namespace gputopo::report
