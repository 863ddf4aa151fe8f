#include "report/export/value_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "file/shown.h"
#include "gputopo/catalogue.h"
#include "gputopo/error.h"
#include "gputopo/operation.h"
#include "model/likeness.h"
#include "model/renames.h"
#include "report/words/units.h"

namespace gputopo::report {
namespace {

constexpr std::string_view kDeviceGroup = "device";
constexpr std::string_view kComputeGroup = "compute";
constexpr std::string_view kMemoryGroup = "memory";

// The parts before and after the first or the last dot.
struct Split {
  std::string_view group;
  std::string_view name;
};

Split split_at(std::string_view path, std::size_t point) {
  if (point == std::string_view::npos) return {path, ""};
  return {path.substr(0, point), path.substr(point + 1)};
}

// Removes the "compute." that the JSON puts before compute elements and operations.
std::string_view without_compute(std::string_view path) {
  const Split split = split_at(path, path.find('.'));
  if (split.group != kComputeGroup) return path;
  const std::string_view group = split_at(split.name, split.name.find('.')).group;
  const ElementInfo* element = find_element(group);
  return group == kInstructions || (element != nullptr && element->is_unit()) ? split.name : path;
}

// Facts that identify the device are not attributes.
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
    if ((topology.*member).empty()) return unavailable(Reason::kNotSupported, "the report does not contain this value");
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

// ---- Fields of a value, by their JSON names ----

constexpr std::string_view kDetails = "details";
constexpr std::string_view kConditions = "conditions";
constexpr std::string_view kFields =
    "value, unit, low, high, source, reason, detail, method, flags, details.NAME and conditions.NAME";

bool is_field(std::string_view field) {
  const std::string_view first = split_at(field, field.find('.')).group;
  if (first == kDetails || first == kConditions) return true;
  constexpr std::string_view kPlain[] = {"value",  "unit",   "low",    "high", "source",
                                         "reason", "detail", "method", "flags"};
  return std::ranges::find(kPlain, field) != std::end(kPlain);
}

Attribute bound_of(const Attribute& attribute, const std::optional<double>& bound) {
  if (!bound) return unavailable(Reason::kNotApplicable, "this value has no uncertainty interval (low to high)");
  return {.value = *bound, .unit = attribute.unit, .source = attribute.source};
}

std::optional<Attribute> named_figure(const Attribute& attribute, const NamedValues& named, std::string_view name) {
  for (const auto& [own, value] : named) {
    if (own == name) return Attribute{.value = value, .unit = detail_name(own).unit, .source = attribute.source};
  }
  return std::nullopt;
}

// An absent value has only text fields; every other field returns the reason.
std::optional<Attribute> field_of(const Attribute& attribute, std::string_view field) {
  const auto text = [](std::string_view words) { return api_value(std::string(words), ""); };
  if (field == "source") return text(to_string(attribute.source));
  if (field == "reason") return text(to_string(attribute.reason));
  if (field == "detail") return text(attribute.detail);
  if (field == "method") return text(attribute.method);
  if (field == "flags") return api_value(attribute.flags, "");
  const Split split = split_at(field, field.find('.'));
  if (!is_field(field) || !attribute.available()) return is_field(field) ? std::optional(attribute) : std::nullopt;
  if (split.group == kDetails) return named_figure(attribute, attribute.details, split.name);
  if (split.group == kConditions) return named_figure(attribute, attribute.conditions, split.name);
  if (field == "unit") return text(attribute.unit);
  if (field == "low") return bound_of(attribute, attribute.low);
  if (field == "high") return bound_of(attribute, attribute.high);
  return attribute;
}

// Converts a path as in jq and pages into this syntax: .compute.instructions["fma.f32"].latency. Old names become the
// current ones.
std::string plain_path(std::string_view path) {
  if (path.starts_with('.')) path.remove_prefix(1);
  std::string plain(path);
  const std::size_t open = plain.find("[\"");
  const std::size_t close = plain.find("\"]");
  if (open == std::string::npos || close == std::string::npos || close < open) return with_current_names(plain);
  plain.erase(close, 2);
  return with_current_names(plain.replace(open, 2, "."));
}

// Returns the possible splits of a path into a value and a field; a field contains at most one more dot.
std::vector<Split> cuts_of(std::string_view path) {
  std::vector<Split> cuts;
  for (std::size_t at = path.rfind('.'); at != std::string_view::npos && cuts.size() < 2;
       at = at == 0 ? std::string_view::npos : path.rfind('.', at - 1)) {
    cuts.push_back(split_at(path, at));
  }
  return cuts;
}

bool is_covered(ElementId element, AttributeId attribute) {
  return std::ranges::any_of(kAllVendors, [&](Vendor vendor) {
    return has_element(vendor, element) && coverage_of(vendor, element, attribute) != Coverage::kNotApplicable;
  });
}

std::optional<Attribute> attribute_at(const Topology& topology, std::string_view path) {
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

}  // namespace

std::optional<Attribute> value_at(const Topology& topology, std::string_view path) {
  const std::string plain = plain_path(path);
  if (auto value = attribute_at(topology, plain)) return value;
  for (const Split& cut : cuts_of(plain)) {
    if (const auto attribute = attribute_at(topology, cut.group)) return field_of(*attribute, cut.name);
  }
  return std::nullopt;
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

namespace {

std::string_view without_section(std::string_view path) {
  constexpr std::string_view kMemoryPrefix = "memory.";
  return path.starts_with(kMemoryPrefix) ? path.substr(kMemoryPrefix.size()) : without_compute(path);
}

bool is_known(const std::vector<std::string>& known, std::string_view path) {
  return std::ranges::find(known, without_section(path)) != known.end();
}

std::string names_text(const NamedValues& named, std::string_view words) {
  if (named.empty()) return fmt::format("it has no {}", words);
  std::vector<std::string_view> names;
  for (const auto& [name, value] : named) names.push_back(name);
  return fmt::format("its {} are {}", words, fmt::join(names, ", "));
}

// Throws if the field does not exist. If the report has the value, also throws for a missing detail.
void require_field(const Split& cut, const Topology* topology) {
  std::string advice;
  if (!is_field(cut.name)) {
    advice = fmt::format("its fields are {}", kFields);
  } else if (const auto attribute = topology == nullptr ? std::nullopt : attribute_at(*topology, cut.group)) {
    const bool is_detail = split_at(cut.name, cut.name.find('.')).group == kDetails;
    advice = names_text(is_detail ? attribute->details : attribute->conditions, is_detail ? kDetails : kConditions);
  } else {
    return;
  }
  throw UsageError(fmt::format("{} has no '{}'; {}", cut.group, shown(std::string(cut.name)), advice));
}

}  // namespace

void require_known_path(std::string_view path, const Topology* topology) {
  constexpr std::size_t kMostNames = 3;
  constexpr std::size_t kLongestLikened = 64;  // longer names resemble nothing, and comparing them takes long
  std::vector<std::string> known = known_paths();
  if (topology != nullptr) {
    if (value_at(*topology, path)) return;
    std::ranges::move(paths_of(*topology), std::back_inserter(known));
  }
  const std::string plain = plain_path(path);
  if (is_known(known, plain)) return;
  for (const Split& cut : cuts_of(plain)) {
    if (is_known(known, cut.group)) return require_field(cut, topology);
  }
  std::string advice = "'gputopo coverage' lists the names";
  if (path.size() <= kLongestLikened) {
    std::vector<std::string> nearest = by_likeness(without_section(plain), std::move(known));
    nearest.erase(std::unique(nearest.begin(), nearest.end()), nearest.end());
    nearest.resize(std::min(nearest.size(), kMostNames));
    advice = fmt::format("the closest names are {}", fmt::join(nearest, ", "));
  }
  throw UsageError(fmt::format("no value is called '{}'; {}", shown(std::string(path)), advice));
}

std::string attribute_path(std::string_view path) {
  std::string plain = plain_path(path);
  const std::vector<std::string> known = known_paths();
  std::vector<std::string_view> candidates = {plain};
  for (const Split& cut : cuts_of(plain)) candidates.push_back(cut.group);
  for (const std::string_view candidate : candidates) {
    if (is_known(known, candidate)) return std::string(without_section(candidate));
  }
  return plain;
}

std::string element_to_measure(std::string_view whole) {
  const std::string attribute = attribute_path(whole);
  const std::string_view path = without_compute(attribute);
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
