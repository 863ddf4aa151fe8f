// The report as one Markdown file, with the drawing and the plots embedded as images.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "file/sanitize.h"
#include "gputopo/report.h"
#include "report/drawing/bandwidth_curve.h"
#include "report/drawing/chart.h"
#include "report/drawing/curve.h"
#include "report/drawing/markup.h"
#include "report/drawing/plot.h"
#include "report/drawing/svg.h"
#include "report/json/thin.h"
#include "report/words/advice.h"
#include "report/words/device_facts.h"
#include "report/words/hierarchy.h"

namespace gputopo {
namespace {

// Escapes Markdown and puts the text on one line: names come from devices and files and are untrusted.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : sanitized_line(text)) {
    if (std::string_view("\\`*_{}[]#!|~").find(c) != std::string_view::npos) result += '\\';
    if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() * 4 / 3 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

std::string image(const std::string& alternative, const report::Markup& svg) {
  return fmt::format("![{}](data:image/svg+xml;base64,{})\n", plain(alternative), base64(svg.text()));
}

std::string row(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

std::string table(const std::vector<std::string>& headings, const std::vector<std::vector<std::string>>& rows) {
  std::string text = row(headings) + "|";
  for (std::size_t i = 0; i < headings.size(); ++i) text += "---|";
  text += "\n";
  for (const std::vector<std::string>& cells : rows) text += row(cells);
  return text;
}

// Text of a hierarchy cell; adds the signs beside its value to `used`.
std::string hierarchy_cell(const report::HierarchyColumn& column, const Topology& topology,
                           const MemoryElement& element, std::string& used) {
  const Attribute* attribute = find(element.attributes, column.attribute);
  if (attribute == nullptr || attribute->reason == Reason::kNotSelected) return "";
  if (!report::has_cell(column, {topology, element, *attribute})) {
    if (column.repeats) return "";
    return attribute->reason == Reason::kNotApplicable ? "n/a" : "-";
  }
  const std::string signs = column.repeats || !attribute->available() ? "" : report::marks(*attribute);
  used += signs;
  return plain(column.format({topology, element, *attribute}) + (signs.empty() ? "" : " " + signs));
}

std::string hierarchy(const Topology& topology, const std::vector<const MemoryElement*>& elements) {
  std::vector<std::string> headings = {"memory"};
  for (const report::HierarchyColumn& column : report::hierarchy_columns()) {
    std::string heading = report::heading_in(topology, column);
    for (char& c : heading) c = c == '\n' ? ' ' : c;
    headings.push_back(heading.front() == ' ' ? heading.substr(1) : heading);
  }
  std::vector<std::vector<std::string>> rows;
  std::string used;
  for (const MemoryElement* element : elements) {
    if (!report::holds_data(*element)) continue;
    std::vector<std::string>& cells = rows.emplace_back();
    cells.push_back(plain(element->title));
    for (const report::HierarchyColumn& column : report::hierarchy_columns()) {
      cells.push_back(hierarchy_cell(column, topology, *element, used));
    }
  }
  return table(headings, rows) + "\n" + plain(report::marks_legend(used)) + "\n\n";
}

std::string values(const AttributeMap& attributes) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [id, attribute] : attributes) {
    if (report::needs_no_reason(attribute)) continue;
    const std::string name = plain(report::readable(id));
    if (!attribute.available()) {
      rows.push_back(
          {name, "-", "", "unavailable", plain(report::why_absent(attribute)), plain(report::details_text(attribute))});
      continue;
    }
    std::string method = report::method_text(attribute);
    for (const std::string& flag : attribute.flags) method += fmt::format(" (flagged: {})", report::readable(flag));
    rows.push_back({name, plain(report::whole_value_text(attribute) + report::extent_text(id)),
                    plain(report::interval_text(attribute)), std::string(to_string(attribute.source)), plain(method),
                    plain(report::details_text(attribute))});
  }
  if (rows.empty()) return "";
  return table({"attribute", "value", "95% interval", "source", "method or reason", "details and conditions"}, rows) +
         "\n";
}

// The interval together with the details, for tables without an interval column.
std::string details_of(const Attribute& attribute) {
  const std::string interval = report::interval_text(attribute);
  const std::string details = report::details_text(attribute);
  return interval + (interval.empty() || details.empty() ? "" : ", ") + details;
}

// One row per operation; it gives the reason if there is no value.
std::string instructions_table(const std::vector<Instruction>& instructions) {
  std::vector<std::vector<std::string>> rows;
  const auto cell = [](const Instruction& instruction, AttributeId id) -> std::string {
    const Attribute* attribute = find(instruction.attributes, id);
    if (attribute == nullptr || !attribute->available()) return "-";
    std::string text = report::brief_value_text(*attribute);
    for (const std::string& flag : attribute->flags) text += fmt::format(" (flagged: {})", report::readable(flag));
    return text;
  };
  for (const Instruction& instruction : instructions) {
    const Attribute* latency = find(instruction.attributes, AttributeId::kLatency);
    const bool absent = latency != nullptr && !latency->available();
    std::string details;
    for (const auto& [id, attribute] : instruction.attributes) {
      const std::string own = details_of(attribute);
      if (!own.empty()) details += fmt::format("{}{}: {}", details.empty() ? "" : "; ", report::readable(id), own);
    }
    rows.push_back({plain(instruction.id), plain(instruction.title), plain(cell(instruction, AttributeId::kLatency)),
                    plain(cell(instruction, AttributeId::kThroughput)),
                    absent ? plain(report::why_absent(*latency)) : "", plain(details)});
  }
  return table({"operation", "description", "latency", "throughput per SM", "reason", "details and conditions"}, rows) +
         "\n";
}

std::string plots(const std::string& title, const AttributeMap& attributes) {
  std::string text;
  // More points would overlap in a picture of this size.
  constexpr std::size_t kMaxRowsDrawn = 500;
  for (const auto& [id, whole] : attributes) {
    const Attribute attribute = report::downsampled(whole, kMaxRowsDrawn);
    const std::string name = title + ": " + report::readable(id);
    for (const report::Chart& chart : report::charts_of(name, report::readable(id), attribute)) {
      text += image(chart.title, report::plot_svg(chart)) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string to_markdown(const Topology& topology) {
  std::string text = fmt::format("# {}{}\n\n", topology.simulated ? "SIMULATED: " : "", plain(topology.name));
  text += plain(fmt::format("{}", fmt::join(report::device_facts(topology), ", "))) + "\n\n";
  text += plain(fmt::format("{}, {}, {:.1f} s", topology.generator, report::when(topology), topology.total_seconds)) +
          "\n\n";
  if (!topology.complete) text += "**INCOMPLETE**: this discovery ended early.\n\n";
  for (const std::string& warning : topology.warnings) text += fmt::format("> Warning: {}\n\n", plain(warning));
  text += image("The chip, with its memories scaled by capacity", report::chip_svg(topology, true)) + "\n";
  for (const report::Chart& curve : report::titled_curves(topology)) {
    text += image(curve.title, report::plot_svg(curve)) + "\n";
  }
  const std::vector<const MemoryElement*> elements = report::elements_with_values(topology);
  if (!elements.empty()) text += "## The memory hierarchy\n\n" + hierarchy(topology, elements);
  if (const std::vector<report::Advice> advice = report::advice_of(topology); !advice.empty()) {
    text += "## Tuning advice\n\n";
    for (const report::Advice& one : advice) {
      text += fmt::format("- **{}**: {} ({})\n", one.topic, plain(one.text), plain(report::grounds_text(one)));
    }
    text += "\n";
  }
  for (const MemoryElement* element : elements) {
    text += fmt::format("## {}\n\n", plain(element->title)) + values(element->attributes) +
            plots(element->title, element->attributes);
  }
  for (const auto& [heading, attributes] :
       {std::pair("Device", &topology.device), std::pair("Compute", &topology.compute)}) {
    const std::string listed = values(*attributes) + plots(heading, *attributes);
    if (!listed.empty()) text += fmt::format("## {}\n\n", heading) + listed;
  }
  if (!topology.instructions.empty()) text += "## Instructions\n\n" + instructions_table(topology.instructions);
  while (text.size() >= 2 && text[text.size() - 1] == '\n' && text[text.size() - 2] == '\n') text.pop_back();
  return text;
}

}  // namespace gputopo
