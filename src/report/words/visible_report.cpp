#include "report/words/visible_report.h"

#include "file/sanitize.h"

namespace gputopo::report {
namespace {

std::vector<std::string> visible(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const std::string& text : texts) result.push_back(sanitized_line(text));
  return result;
}

Value visible(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return sanitized_line(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return visible(*texts);
  return value;
}

NamedValues visible(const NamedValues& values) {
  NamedValues result;
  for (const auto& [name, value] : values) result.emplace_back(sanitized_line(name), visible(value));
  return result;
}

// Samples may take hundreds of megabytes. It is enough to show that there are some.
Attribute visible(const Attribute& attribute) {
  const auto& [value, unit, low, high, source, reason, detail, method, conditions, details, flags, samples] = attribute;
  return {visible(value),
          sanitized_line(unit),
          low,
          high,
          source,
          reason,
          sanitized_line(detail),
          sanitized_line(method),
          visible(conditions),
          visible(details),
          visible(flags),
          std::vector<SampleTable>(samples.size())};
}

AttributeMap visible(const AttributeMap& attributes) {
  AttributeMap result;
  for (const auto& [name, attribute] : attributes) result.emplace_back(sanitized_line(name), visible(attribute));
  return result;
}

}  // namespace

Topology visible_report(const Topology& topology) {
  Topology result{.generator = sanitized_line(topology.generator),
                  .timestamp = sanitized_line(topology.timestamp),
                  .complete = topology.complete,
                  .backend = sanitized_line(topology.backend),
                  .simulated = topology.simulated,
                  .vendor = sanitized_line(topology.vendor),
                  .name = sanitized_line(topology.name),
                  .architecture = sanitized_line(topology.architecture),
                  .pci_address = sanitized_line(topology.pci_address),
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
        {sanitized_line(instruction.id), sanitized_line(instruction.title), visible(instruction.attributes)});
  }
  for (const MemoryElement& element : topology.memory) {
    result.memory.push_back({sanitized_line(element.id), sanitized_line(element.title), visible(element.attributes)});
  }
  return result;
}

}  // namespace gputopo::report
