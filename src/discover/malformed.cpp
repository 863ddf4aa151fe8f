#include "discover/malformed.h"

#include <fmt/format.h>

#include <algorithm>

namespace gputopo {
namespace {

bool is_well_formed(const SampleTable& table) {
  return table.data.size() == table.columns.size() &&
         std::ranges::all_of(table.data, [&](const auto& column) { return column.size() == table.row_count(); });
}

void withdraw_malformed(const std::string& element, AttributeMap& attributes, std::vector<std::string>& warnings) {
  for (auto& [name, attribute] : attributes) {
    const auto malformed =
        std::ranges::find_if(attribute.samples, [](const SampleTable& table) { return !is_well_formed(table); });
    if (malformed == attribute.samples.end()) continue;
    const std::string why = fmt::format(
        "gputopo has a bug: the columns of the samples '{}' differ in length; please report it", malformed->name);
    attribute = unavailable(Reason::kInconclusive, why);
    warnings.push_back(fmt::format("{}.{}: {}", element, name, why));
  }
}

}  // namespace

void withdraw_malformed(Topology& topology) {
  withdraw_malformed("device", topology.device, topology.warnings);
  withdraw_malformed("compute", topology.compute, topology.warnings);
  for (MemoryElement& element : topology.memory) {
    withdraw_malformed(element.id, element.attributes, topology.warnings);
  }
  for (Instruction& instruction : topology.instructions) {
    withdraw_malformed(instruction.id, instruction.attributes, topology.warnings);
  }
}

}  // namespace gputopo
