#include "report/words/visible_report.h"

#include "file/visible.h"

namespace gputopo::report {
namespace {

std::vector<std::string> visible(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const std::string& text : texts) result.push_back(visible_line(text));
  return result;
}

Value visible(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return visible_line(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return visible(*texts);
  return value;
}

NamedValues visible(const NamedValues& values) {
  NamedValues result;
  for (const auto& [name, value] : values) result.emplace_back(visible_line(name), visible(value));
  return result;
}

// Samples may take hundreds of megabytes. It is enough to show that there are some.
Attribute visible(const Attribute& attribute) {
  const auto& [value, unit, low, high, source, reason, detail, method, conditions, details, flags, samples] = attribute;
  return {visible(value),
          visible_line(unit),
          low,
          high,
          source,
          reason,
          visible_line(detail),
          visible_line(method),
          visible(conditions),
          visible(details),
          visible(flags),
          std::vector<SampleTable>(samples.size())};
}

AttributeMap visible(const AttributeMap& attributes) {
  AttributeMap result;
  for (const auto& [name, attribute] : attributes) result.emplace_back(visible_line(name), visible(attribute));
  return result;
}

}  // namespace

Topology visible_report(const Topology& topology) {
  Topology result{.generator = visible_line(topology.generator),
                  .timestamp = visible_line(topology.timestamp),
                  .complete = topology.complete,
                  .backend = visible_line(topology.backend),
                  .simulated = topology.simulated,
                  .vendor = visible_line(topology.vendor),
                  .name = visible_line(topology.name),
                  .architecture = visible_line(topology.architecture),
                  .pci_address = visible_line(topology.pci_address),
                  .device = visible(topology.device),
                  .compute = visible(topology.compute),
                  .instructions = {},
                  .memory = {},
                  .total_seconds = topology.total_seconds,
                  .timing = topology.timing,
                  .profile = topology.profile,
                  .warnings = visible(topology.warnings)};
  for (const Instruction& instruction : topology.instructions) {
    result.instructions.push_back(
        {visible_line(instruction.id), visible_line(instruction.title), visible(instruction.attributes)});
  }
  for (const MemoryElement& element : topology.memory) {
    result.memory.push_back({visible_line(element.id), visible_line(element.title), visible(element.attributes)});
  }
  return result;
}

}  // namespace gputopo::report
