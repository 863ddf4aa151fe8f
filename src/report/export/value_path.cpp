#include "report/export/value_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "file/shown.h"
#include "gputopo/catalogue.h"
#include "gputopo/error.h"
#include "gputopo/operation.h"
#include "model/likeness.h"

namespace gputopo::report {
namespace {

constexpr std::string_view kDeviceGroup = "device";
constexpr std::string_view kComputeGroup = "compute";
constexpr std::string_view kMemoryGroup = "memory";

// What stands before the first point, or the last, and behind it.
struct Split {
  std::string_view group;
  std::string_view name;
};

Split split_at(std::string_view path, std::size_t point) {
  if (point == std::string_view::npos) return {path, ""};
  return {path.substr(0, point), path.substr(point + 1)};
}

// Without the "compute." that stands before elements of what computes, and operations, in the JSON.
std::string_view without_compute(std::string_view path) {
  const Split split = split_at(path, path.find('.'));
  if (split.group != kComputeGroup) return path;
  const std::string_view group = split_at(split.name, split.name.find('.')).group;
  const ElementInfo* element = find_element(group);
  return group == kInstructions || (element != nullptr && element->is_unit()) ? split.name : path;
}

// What identifies the device has no attributes of its own.
constexpr std::pair<std::string_view, std::string Topology::*> kIdentity[] = {
    {"name", &Topology::name},
    {"vendor", &Topology::vendor},
    {"architecture", &Topology::architecture},
    {"pci_address", &Topology::pci_address},
    {"backend", &Topology::backend},
};

std::optional<Attribute> identity_at(const Topology& topology, std::string_view name) {
  if (name == "simulated") return api_value(topology.simulated, "");
  for (const auto& [key, member] : kIdentity) {
    if (key != name) continue;
    if ((topology.*member).empty()) return unavailable(Reason::kNotSupported, "the report does not tell");
    return api_value(topology.*member, "");
  }
  return std::nullopt;
}

std::optional<Attribute> copy_of(const Attribute* attribute) {
  return attribute == nullptr ? std::nullopt : std::optional(*attribute);
}

std::optional<Attribute> memory_at(const Topology& topology, std::string_view path) {
  const Split split = split_at(path, path.rfind('.'));
  return copy_of(topology.find_attribute(split.group, split.name));
}

std::optional<Attribute> instruction_at(const Topology& topology, std::string_view path) {
  const Split split = split_at(path, path.rfind('.'));
  const Instruction* instruction = topology.find_instruction(split.group);
  return instruction == nullptr ? std::nullopt : copy_of(find(instruction->attributes, split.name));
}

std::string joined(std::string_view group, std::string_view name) { return fmt::format("{}.{}", group, name); }

void add_paths(std::vector<std::string>& paths, std::string_view group, const AttributeMap& attributes) {
  for (const auto& [name, attribute] : attributes) paths.push_back(joined(group, name));
}

std::vector<std::string> paths_of(const Topology& topology) {
  std::vector<std::string> paths;
  add_paths(paths, kDeviceGroup, topology.device);
  add_paths(paths, kComputeGroup, topology.compute);
  for (const Instruction& instruction : topology.instructions) {
    add_paths(paths, joined(kInstructions, instruction.id), instruction.attributes);
  }
  for (const MemoryElement& element : topology.memory) add_paths(paths, element.id, element.attributes);
  return paths;
}

bool is_covered(ElementId element, AttributeId attribute) {
  return std::ranges::any_of(kAllVendors, [&](Vendor vendor) {
    return has_element(vendor, element) && coverage_of(vendor, element, attribute) != Coverage::kNotApplicable;
  });
}

}  // namespace

std::optional<Attribute> value_at(const Topology& topology, std::string_view path) {
  path = without_compute(path);
  const Split split = split_at(path, path.find('.'));
  if (split.group == kMemoryGroup) return memory_at(topology, split.name);
  if (split.group == kInstructions) return instruction_at(topology, split.name);
  if (split.group == kComputeGroup) return copy_of(find(topology.compute, split.name));
  if (split.group == kDeviceGroup) {
    if (auto value = identity_at(topology, split.name)) return value;
    if (auto value = copy_of(find(topology.device, split.name))) return value;
  }
  return memory_at(topology, path);
}

std::vector<std::string> known_paths() {
  std::vector<std::string> paths = {"device.simulated"};
  for (const auto& [name, member] : kIdentity) paths.push_back(joined(kDeviceGroup, name));
  for (const AttributeInfo& info : attribute_catalogue()) {
    if (info.group == AttributeGroup::kDevice) paths.push_back(joined(kDeviceGroup, info.name));
    if (info.group == AttributeGroup::kCompute) paths.push_back(joined(kComputeGroup, info.name));
  }
  for (const ElementInfo& element : element_catalogue()) {
    for (const AttributeInfo& info : attributes_of(element)) {
      if (is_covered(element.id, info.id)) paths.push_back(joined(element.name, info.name));
    }
  }
  for (const OperationInfo& operation : instruction_catalogue()) {
    for (const AttributeId attribute : kOperationAttributes) {
      paths.push_back(joined(joined(kInstructions, operation.name), to_string(attribute)));
    }
  }
  return paths;
}

void require_known_path(std::string_view path, const Topology* topology) {
  constexpr std::size_t kMostNames = 3;
  constexpr std::size_t kLongestLikened = 64;  // beyond, likening takes long, and is none
  constexpr std::string_view kMemoryPrefix = "memory.";
  const std::string_view plain =
      path.starts_with(kMemoryPrefix) ? path.substr(kMemoryPrefix.size()) : without_compute(path);
  std::vector<std::string> known = known_paths();
  if (topology != nullptr) {
    if (value_at(*topology, path)) return;
    std::ranges::move(paths_of(*topology), std::back_inserter(known));
  }
  if (std::ranges::find(known, plain) != known.end()) return;
  std::string advice = "'gputopo coverage' lists the names";
  if (path.size() <= kLongestLikened) {
    std::vector<std::string> nearest = by_likeness(plain, std::move(known));
    nearest.erase(std::unique(nearest.begin(), nearest.end()), nearest.end());
    nearest.resize(std::min(nearest.size(), kMostNames));
    advice = fmt::format("the nearest are {}", fmt::join(nearest, ", "));
  }
  throw UsageError(fmt::format("no value is called '{}'; {}", shown(std::string(path)), advice));
}

std::string element_to_measure(std::string_view path) {
  path = without_compute(path);
  const Split split = split_at(path, path.find('.'));
  if (split.group == kInstructions) return std::string(path.substr(0, path.rfind('.')));
  if (split.group == kComputeGroup && split.name == to_string(AttributeId::kPipes)) return std::string(kPipesGroup);
  const AttributeInfo* info = find_attribute(split.name);
  const bool is_of_memory = info != nullptr && info->group == AttributeGroup::kMemory;
  if (split.group == kMemoryGroup) return std::string(split.name);
  if (split.group == kComputeGroup || (split.group == kDeviceGroup && !is_of_memory)) {
    return joined(to_string(ElementId::kDevice), to_string(AttributeId::kSize));
  }
  return std::string(path);
}

}  // namespace gputopo::report
