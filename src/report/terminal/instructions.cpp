#include "report/terminal/instructions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "gputopo/operation.h"
#include "report/words/hierarchy.h"

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

// "f32", "matrix f16", or "sparse matrix f16", which also counts skipped operations; empty if not arithmetic.
std::string kind_of_peak(const OperationInfo& operation) {
  if (operation.of == OperationClass::kArithmetic) return std::string(to_string(operation.type));
  if (operation.of != OperationClass::kMatrix) return "";
  return fmt::format("{}matrix {}", operation.name.find("mma.sp.") != std::string_view::npos ? "sparse " : "",
                     operation.name.substr(operation.name.rfind('.') + 1));
}

bool counts_whole_numbers(const OperationInfo& operation) {
  const std::string_view type = operation.name.substr(operation.name.rfind('.') + 1);
  return type.starts_with('s') || type.starts_with('u') || type == "b1";
}

}  // namespace

std::string peaks_text(const std::vector<Instruction>& instructions, int width) {
  std::vector<std::pair<std::string, double>> peaks;  // in catalogue order
  std::map<std::string, std::string> units;
  for (const Instruction& instruction : instructions) {
    const OperationInfo* operation = find_operation(instruction.id);
    const Attribute* throughput = find(instruction.attributes, AttributeId::kThroughput);
    if (operation == nullptr || throughput == nullptr || !throughput->available()) continue;
    const Value* detail = throughput->find_detail("peak_ops_per_second");
    const double* peak = detail == nullptr ? nullptr : std::get_if<double>(detail);
    const std::string kind = kind_of_peak(*operation);
    if (peak == nullptr || kind.empty()) continue;
    units[kind] = counts_whole_numbers(*operation) ? "TOP/s" : "TFLOP/s";
    const auto known = std::ranges::find(peaks, kind, &std::pair<std::string, double>::first);
    if (known == peaks.end()) {
      peaks.emplace_back(kind, *peak);
    } else {
      known->second = std::max(known->second, *peak);
    }
  }
  std::string text;
  for (const auto& [kind, peak] : peaks) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", kind, significant(peak / 1e12, 3), units[kind]);
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

std::string instructions_text(const std::vector<Instruction>& instructions, const TextStyle& style) {
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
  return render(table_of(shown, beside), style) + peaks_text(instructions, style.width) +
         paint(wrap("", legend + marks_legend(used), style.width), Tone::kFaint, style.colour);
}

}  // namespace gputopo::report
