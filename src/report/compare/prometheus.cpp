// Results of a check and the report's numbers for the textfile collector of Prometheus' node_exporter.
// https://github.com/prometheus/docs/blob/main/docs/instrumenting/exposition_formats.md: one malformed line or one
// duplicate sample makes the collector drop the whole file.
#include <fmt/format.h>

#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file/sanitize.h"
#include "gputopo/report.h"
#include "report/compare/prometheus_text.h"
#include "report/words/units.h"

namespace gputopo {
namespace {

using report::prometheus_help;
using report::prometheus_label;
using report::prometheus_name;

struct Metric {
  std::string help;
  std::vector<std::string> samples;  // "{labels} value"
};

constexpr const char* kCheckOkHelp =
    "1 if every value was judged and is within the tolerances of the baseline, else 0.";

// Prometheus requires base units.
std::pair<std::string, double> base_unit(const std::string& unit) {
  if (unit == "B") return {"_bytes", 1};
  if (unit == "B/s") return {"_bytes_per_second", 1};
  if (unit == "ns") return {"_seconds", 1e-9};
  if (unit == "MHz") return {"_hertz", 1e6};
  return {unit.empty() ? "" : fmt::format("_{}", prometheus_name(unit)), 1};
}

// "sm_count" becomes "sms", because the suffix "_count" is reserved for counters.
std::string counted_name(const std::string& id) {
  constexpr std::string_view kCount = "_count";
  return id.ends_with(kCount) ? id.substr(0, id.size() - kCount.size()) + "s" : id;
}

// Collectors skip comments, but people who read the file see them.
std::string comments_of(const CheckResult& result) {
  std::string text;
  for (const auto* notes : {&result.notes, &result.environment}) {
    for (const std::string& note : *notes) text += fmt::format("# note: {}\n", sanitized_line(note));
  }
  for (const CheckResult::Finding& finding : result.violations) {
    text += fmt::format("# violation: {}\n", sanitized_line(finding.text));
  }
  for (const CheckResult::Finding& finding : result.not_judged) {
    text += fmt::format("# not judged: {}\n", sanitized_line(finding.text));
  }
  return text;
}

}  // namespace

std::string check_to_prometheus(const CheckResult& result, const Topology& topology) {
  const std::string device =
      fmt::format("gpu=\"{}\",pci_address=\"{}\",simulated=\"{}\"", prometheus_label(topology.name),
                  prometheus_label(topology.pci_address), topology.simulated);
  // Sorted by name, because all lines of a metric must be adjacent.
  std::map<std::string, Metric> metrics;
  std::set<std::pair<std::string, std::string>> seen;  // name and labels
  report::PrometheusNames names;
  const auto add = [&](const std::string& name, const std::string& help, const std::string& labels, double value) {
    Metric& metric = metrics[fmt::format("gputopo_{}", name)];
    metric.help = prometheus_help(help);
    if (!seen.emplace(name, labels).second) return;
    metric.samples.push_back(fmt::format("{{{}{}{}}} {}", device, labels.empty() ? "" : ",", labels, value));
  };
  add("check_ok", kCheckOkHelp, "", result.outcome() == Outcome::kGood ? 1 : 0);
  add("check_violations", "Values that are worse than the baseline, and faults.", "",
      static_cast<double>(result.violations.size()));
  add("check_not_judged", "Required values, faults and links that the report has no result for.", "",
      static_cast<double>(result.not_judged.size()));
  add("check_compared", "Values that the report and the baseline both have.", "", static_cast<double>(result.compared));
  add("check_notes", "Reasons why the comparison may mislead; the text format lists them.", "",
      static_cast<double>(result.notes.size()));
  for (const CheckResult::Finding& violation : result.violations) {
    if (violation.attribute.empty()) continue;
    add("check_violation", "1 for each value that is worse than the baseline.",
        fmt::format("element=\"{}\",attribute=\"{}\"", prometheus_label(violation.element),
                    prometheus_label(violation.attribute)),
        1);
  }
  const auto add_numbers = [&](const AttributeMap& attributes, const std::string& lead, const char* what,
                               const std::string& labels) {
    for (const auto& [id, attribute] : attributes) {
      if (!attribute.number()) continue;
      const auto [suffix, factor] = base_unit(attribute.unit);
      add(names.name(lead + counted_name(id), attribute.unit, suffix),
          fmt::format("Attribute {} of {}.", report::readable(id), what), labels, *attribute.number() * factor);
    }
  };
  add_numbers(topology.device, "device_", "the GPU", "");
  add_numbers(topology.compute, "compute_", "the GPU", "");
  for (const MemoryElement& element : topology.memory) {
    add_numbers(element.attributes, "", "a memory, cache, TLB or data path",
                fmt::format("element=\"{}\"", prometheus_label(element.id)));
  }
  for (const Instruction& instruction : topology.instructions) {
    add_numbers(instruction.attributes, "instruction_", "an operation",
                fmt::format("operation=\"{}\"", prometheus_label(instruction.id)));
  }
  std::string text = comments_of(result);
  for (const auto& [name, metric] : metrics) {
    text += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, metric.help, name);
    for (const std::string& sample : metric.samples) text += name + sample + "\n";
  }
  return text;
}

std::string check_failure_to_prometheus(std::string_view problem) {
  return fmt::format(
      "# not judged: {}\n# HELP gputopo_check_ok {}\n# TYPE gputopo_check_ok gauge\ngputopo_check_ok 0\n",
      sanitized_line(problem), kCheckOkHelp);
}

}  // namespace gputopo
