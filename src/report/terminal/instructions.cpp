#include "report/terminal/instructions.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/words/hierarchy.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::report {
namespace {

constexpr std::size_t kMostBeside = 4;

// The number only; the legend has the unit.
Cell number_cell(const Instruction& instruction, AttributeId id) {
  const Attribute* attribute = find(instruction.attributes, id);
  if (attribute == nullptr || !attribute->available()) return {"-", Tone::kFaint};
  const std::string signs = marks(*attribute);
  constexpr int kDigits = 4;
  return {significant(attribute->number().value_or(0), kDigits) + (signs.empty() ? "" : " " + signs),
          attribute->flags.empty() ? Tone::kPlain : Tone::kAlert};
}

// Fills the columns from top to bottom, then left to right.
TextTable table_of(const std::vector<const Instruction*>& instructions, std::size_t beside) {
  TextTable table;
  for (std::size_t i = 0; i < beside; ++i) {
    table.columns.push_back({"operation"});
    table.columns.push_back({"cycles", Align::kRight});
    table.columns.push_back({"/clk", Align::kRight});
  }
  const std::size_t rows = (instructions.size() + beside - 1) / beside;
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (std::size_t i = row; cells.size() < 3 * beside; i += rows) {
      if (i >= instructions.size()) {
        cells.insert(cells.end(), 3, Cell{});
        continue;
      }
      cells.push_back({instructions[i]->id, Tone::kStrong});
      cells.push_back(number_cell(*instructions[i], AttributeId::kLatency));
      cells.push_back(number_cell(*instructions[i], AttributeId::kThroughput));
    }
  }
  return table;
}

bool has_some_value(const Instruction& instruction) {
  return std::ranges::any_of(instruction.attributes, [](const auto& entry) { return entry.second.available(); });
}

// A default run measures only latencies.
bool has_throughputs(const std::vector<Instruction>& instructions) {
  return std::ranges::any_of(instructions, [](const Instruction& instruction) {
    const Attribute* throughput = find(instruction.attributes, AttributeId::kThroughput);
    return throughput != nullptr && throughput->reason != Reason::kNotSelected;
  });
}

}  // namespace

std::string peaks_text(const Topology& topology, int width) {
  const MemoryElement* peaks = topology.find_memory(ElementId::kPeaks);
  if (peaks == nullptr) return "";
  std::string text;
  for (const auto& [name, attribute] : peaks->attributes) {
    if (!attribute.available() || !attribute.number() || name.starts_with("sustained_")) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", readable(name), value_text(attribute));
  }
  return text.empty() ? "" : wrap("peaks: ", text, width);
}

std::string pipes_text(const Topology& topology, int width) {
  const Attribute* pipes = find(topology.compute, AttributeId::kPipes);
  const auto* units = pipes == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&pipes->value);
  if (units == nullptr) return "";
  const Value* detail = pipes->find_detail("lanes_per_clk");
  const auto* widths = detail == nullptr ? nullptr : std::get_if<std::vector<double>>(detail);
  std::string text = "execution units, with lanes per clock:\n";
  for (std::size_t i = 0; i < units->size(); ++i) {
    const bool has_width = widths != nullptr && i < widths->size();
    text += wrap("  ", fmt::format("{}{}", (*units)[i], has_width ? ", " + significant((*widths)[i], 3) : ""), width);
  }
  return text;
}

std::string latencies_text(const std::vector<Instruction>& instructions, int width) {
  if (has_throughputs(instructions)) return "";
  constexpr int kDigits = 3;
  std::string text;
  for (const Instruction& instruction : instructions) {
    const Attribute* latency = find(instruction.attributes, AttributeId::kLatency);
    if (latency == nullptr || !latency->available()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", instruction.id,
                        significant(latency->number().value_or(0), kDigits));
  }
  return text.empty() ? "" : wrap("", "latency of operations in cycles: " + text, width);
}

std::string instructions_text(const Topology& topology, const TextStyle& style) {
  const std::vector<Instruction>& instructions = topology.instructions;
  if (!has_throughputs(instructions)) return "";
  std::vector<const Instruction*> shown;
  std::string used;
  for (const Instruction& instruction : instructions) {
    if (!has_some_value(instruction)) continue;
    shown.push_back(&instruction);
    for (const auto& [id, attribute] : instruction.attributes) used += marks(attribute);
  }
  if (shown.empty()) return "";
  std::size_t beside = std::min(kMostBeside, shown.size());
  while (beside > 1 && table_width(table_of(shown, beside), style) > static_cast<std::size_t>(style.width)) --beside;
  const std::string legend = "cycles: latency of an operation; /clk: operations per clock and SM, counted per lane; ";
  return render(table_of(shown, beside), style) + peaks_text(topology, style.width) +
         paint(wrap("", legend + marks_legend(used), style.width), Tone::kFaint, style.colour);
}

}  // namespace gputopo::report
