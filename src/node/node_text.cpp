// A node's report for a terminal.
#include <fmt/format.h>

#include "file/sanitize.h"
#include "gputopo/node.h"
#include "node/node_view.h"
#include "report/words/text_table.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo {
namespace {

using report::Align;

std::string heading(const NodeReport& report) {
  std::string text = node::models_text(report);
  if (report.simulated) text += " (SIMULATED)";
  if (!report.host_name.empty()) text = report.host_name + ": " + text;
  if (!report.host_cpu.empty()) text += ", " + report.host_cpu;
  if (!report.driver_version.empty()) text += ", driver " + report.driver_version;
  return sanitized_line(text);
}

// The values that distinguish a GPU from others of its model.
std::string gpu_values(const NodeGpuReport& gpu) {
  if (!gpu.report) return gpu.failure.empty() ? "" : "not measured";
  std::string text;
  const auto add = [&](ElementId element, AttributeId attribute, std::string_view name) {
    const Attribute* value = gpu.report->find_attribute(element, attribute);
    if (value == nullptr || !value->available()) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, report::value_text(*value));
  };
  add(ElementId::kDevice, AttributeId::kReadBandwidth, "memory");
  add(ElementId::kL2, AttributeId::kSize, "L2");
  add(ElementId::kL2, AttributeId::kLatency, "L2");
  return text;
}

void add_gpus(const NodeReport& report, int width, std::string& text) {
  for (std::size_t i = 0; i < report.numa_nodes.size(); ++i) {
    const NumaNode& numa = report.numa_nodes[i];
    std::string line = fmt::format("NUMA node {}", numa.id);
    if (!numa.cpus.empty()) line += fmt::format(", CPUs {}", numa.cpus);
    if (numa.memory_bytes) line += fmt::format(", {:.0f} GiB", static_cast<double>(*numa.memory_bytes) / (1ull << 30));
    text += report::wrap(fmt::format("host{:<3} ", i), sanitized_line(line), width);
  }
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    std::string line = node::gpu_text(report, i);
    if (const std::string values = gpu_values(report.gpus[i]); !values.empty()) line += "; " + values;
    text += report::wrap(fmt::format("gpu{:<4} ", i), sanitized_line(line), width);
  }
  for (const std::string& line : node::peer_texts(report)) text += report::wrap("", sanitized_line(line), width);
}

void add_matrix(const node::Matrix& matrix, int width, std::string& text) {
  report::TextTable table;
  table.columns.push_back({"from \\ to", Align::kLeft});
  for (const Endpoint& column : matrix.columns) table.columns.push_back({to_text(column), Align::kRight});
  for (const node::Matrix::Row& row : matrix.rows) {
    std::vector<report::Cell>& cells = table.rows.emplace_back();
    cells.push_back({to_text(row.from)});
    for (const std::string& cell : row.cells) cells.push_back({cell.empty() ? "-" : sanitized_line(cell)});
  }
  text += "\n" + matrix.title + "\n" + report::render(table, {.width = width});
}

void add_together(const NodeReport& report, int width, std::string& text) {
  if (report.together.empty()) return;
  report::TextTable table;
  table.columns = {{"simultaneous transfers", Align::kLeft},
                   {"together", Align::kRight},
                   {"alone (sum)", Align::kRight},
                   {"slowest vs. alone", Align::kRight}};
  std::string sharing;
  for (const ConcurrentReport& entry : report.together) {
    const Attribute* total = find(entry.attributes, "together_bandwidth");
    const Attribute* share = find(entry.attributes, "min_rate_fraction");
    const auto or_dash = [](const std::string& value) {
      return value.empty() ? std::string("-") : sanitized_line(value);
    };
    std::string alone;
    if (const Value* sum = total == nullptr ? nullptr : total->find_detail("alone_bytes_per_second")) {
      alone = report::human_value(*sum, "B/s");
    }
    const bool has_share = share != nullptr && share->available();
    table.rows.push_back({{sanitized_line(entry.title)},
                          {or_dash(total == nullptr || !total->available() ? "" : report::value_text(*total))},
                          {or_dash(alone)},
                          {has_share ? fmt::format("{:.0f}%", 100 * share->number().value_or(0)) : "-"}});
    for (const std::string& line : node::sharing_texts(entry)) {
      sharing += report::wrap("  ", sanitized_line(fmt::format("{}: {}", entry.title, line)), width);
    }
  }
  text += "\n" + report::render(table, {.width = width}) + sharing;
}

std::string_view label_of(Outcome outcome) {
  return outcome == Outcome::kGood ? "good: " : outcome == Outcome::kBad ? "BAD: " : "not judged: ";
}

void add_judgement(const NodeReport& report, int width, std::string& text) {
  if (report.verdicts.empty()) return;
  text += "\n";
  for (const Verdict& verdict : report.verdicts) {
    if (verdict.outcome == Outcome::kGood) continue;
    text += report::wrap(std::string(label_of(verdict.outcome)), sanitized_line(node::verdict_text(verdict)), width);
  }
  text += report::wrap(std::string(label_of(outcome_of(report.verdicts))), node::judgement_summary(report), width);
}

}  // namespace

std::string node_to_text(const NodeReport& report, int width) {
  std::string text = report::wrap("", heading(report), width);
  add_gpus(report, width, text);
  for (const node::Matrix& matrix : node::matrices_of(report)) add_matrix(matrix, width, text);
  add_together(report, width, text);
  add_judgement(report, width, text);
  const std::vector<std::string> remarks = node::remarks_of(report);
  if (!remarks.empty()) text += "\n";
  for (const std::string& remark : remarks) text += report::wrap("! ", sanitized_line(remark), width);
  text += "\n";
  if (!report.links.empty()) {
    text += report::wrap("",
                         "host0, host1, ... are the memories of the NUMA nodes. docs/methods/links.md explains each "
                         "value and how it is measured.",
                         width);
  }
  text += fmt::format("{:.1f} s for the GPUs, {:.1f} s for the links\n", report.gpu_seconds, report.link_seconds);
  return text;
}

}  // namespace gputopo
