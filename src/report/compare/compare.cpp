#include "report/compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "gputopo/catalogue.h"
#include "report/words/hierarchy.h"
#include "report/words/unit_map.h"
#include "report/words/units.h"

namespace gputopo::report {
namespace {

// A measured value without an interval, such as a clock, repeats within this fraction.
constexpr double kWithoutInterval = 0.02;

struct Bounds {
  double low;
  double high;
};

Bounds bounds_of(const Attribute& attribute) {
  const double value = *attribute.number();
  if (attribute.low && attribute.high) return {std::min(*attribute.low, value), std::max(*attribute.high, value)};
  const double room = attribute.source == Source::kMeasured ? kWithoutInterval * std::abs(value) : 0;
  return {value - room, value + room};
}

// False for values that do not apply or were not selected, which are not compared.
bool takes_part(const Attribute* attribute) { return attribute != nullptr && !needs_no_reason(*attribute); }

bool left_out(const Attribute* attribute) { return attribute != nullptr && attribute->reason == Reason::kNotSelected; }

bool is_known(const Attribute* attribute) { return attribute != nullptr && attribute->available(); }

// True if two known values differ by more than their intervals.
bool values_differ(const Attribute& a, const Attribute& b) {
  if (!a.number() || !b.number() || a.unit != b.unit) return a.value != b.value || a.unit != b.unit;
  const Bounds mine = bounds_of(a);
  const Bounds theirs = bounds_of(b);
  return mine.high < theirs.low || theirs.high < mine.low;
}

std::optional<double> relative_of(const Attribute& a, const Attribute& b) {
  if (!a.number() || !b.number() || a.unit != b.unit || *a.number() == 0) return std::nullopt;
  return (*b.number() - *a.number()) / std::abs(*a.number());
}

// An idle link runs at a lower rate, so its current rate says nothing about the GPU. Counters of faults are judged by
// themselves.
bool is_of_moment(std::string_view attribute) {
  const AttributeInfo* info = find_attribute(attribute);
  return info != nullptr && (info->id == AttributeId::kPcieGeneration || info->quantity == Quantity::kHealth);
}

void compare_attribute(Difference difference, const SideNames& names, Comparison& result) {
  const Attribute* a = difference.first;
  const Attribute* b = difference.second;
  if (left_out(a) || left_out(b) || (!takes_part(a) && !takes_part(b))) return;
  if (is_of_moment(difference.attribute)) return;
  const bool both = is_known(a) && is_known(b);
  if (is_environment(difference.group, difference.attribute)) {
    if (both && a->value != b->value) {
      result.environment.push_back(fmt::format("{}: {} in {}, {} in {}", readable(difference.attribute), value_text(*a),
                                               names.first, value_text(*b), names.second));
    }
    return;
  }
  if (!is_known(a) && !is_known(b)) return;  // unknown in both: no difference
  if (both) {
    ++result.compared;
    if (!values_differ(*a, *b)) return;
    difference.relative = relative_of(*a, *b);
  }
  result.differences.push_back(std::move(difference));
}

// Indexes, because a report may have thousands of attributes and elements.
using AttributeIndex = std::unordered_map<std::string_view, const Attribute*>;

AttributeIndex index_of(const AttributeMap& attributes) {
  AttributeIndex index;
  for (const auto& [id, attribute] : attributes) index.emplace(id, &attribute);
  return index;
}

using ElementIndex = std::unordered_map<std::string_view, const MemoryElement*>;

ElementIndex index_of(const std::vector<MemoryElement>& elements) {
  ElementIndex index;
  for (const MemoryElement& element : elements) index.emplace(element.id, &element);
  return index;
}

using InstructionIndex = std::unordered_map<std::string_view, const Instruction*>;

InstructionIndex index_of(const std::vector<Instruction>& instructions) {
  InstructionIndex index;
  for (const Instruction& instruction : instructions) index.emplace(instruction.id, &instruction);
  return index;
}

void compare_attributes(const std::string& group, const std::string& title, const AttributeMap& first,
                        const AttributeMap& second, const SideNames& names, Comparison& result) {
  const AttributeIndex of_first = index_of(first);
  const AttributeIndex of_second = index_of(second);
  for (const auto& [id, attribute] : first) {
    const auto other = of_second.find(id);
    compare_attribute({group, title, id, &attribute, other == of_second.end() ? nullptr : other->second, std::nullopt},
                      names, result);
  }
  for (const auto& [id, attribute] : second) {
    if (of_first.contains(id)) continue;
    compare_attribute({group, title, id, nullptr, &attribute, std::nullopt}, names, result);
  }
}

double rank(const Difference& difference) { return difference.relative ? std::abs(*difference.relative) : INFINITY; }

void add_notes(const SideNames& names, Comparison& result) {
  const Topology& first = *result.first;
  const Topology& second = *result.second;
  if (first.name != second.name || first.vendor != second.vendor) {
    result.other_devices.push_back(fmt::format("the GPUs differ: {} is from {}, and {} is from {}", names.first,
                                               first.name, names.second, second.name));
  }
  if (first.simulated != second.simulated) {
    result.other_devices.push_back(fmt::format("{} is from a SIMULATED GPU, but {} is not",
                                               first.simulated ? names.first : names.second,
                                               first.simulated ? names.second : names.first));
  } else if (first.simulated) {
    result.notes.push_back(fmt::format("{} and {} are from SIMULATED GPUs", names.first, names.second));
  }
  for (const auto& [report, name] : {std::pair(&first, &names.first), std::pair(&second, &names.second)}) {
    if (!report->complete)
      result.notes.push_back(fmt::format("{} is INCOMPLETE: its missing values are not compared", *name));
  }
}

}  // namespace

bool is_environment(std::string_view group, std::string_view attribute) {
  constexpr AttributeId kEnvironment[] = {AttributeId::kHostCpu, AttributeId::kOs, AttributeId::kDriverVersion};
  const AttributeInfo* info = find_attribute(attribute);
  // "gpu0.device": of a node
  const bool is_of_device = group == "gpu" || group.ends_with(".device");
  return is_of_device && info != nullptr && std::ranges::find(kEnvironment, info->id) != std::end(kEnvironment);
}

const AttributeInfo* info_of(const Difference& difference) {
  if (const AttributeInfo* info = find_attribute(difference.attribute)) return info;
  const std::string& unit = difference.first != nullptr ? difference.first->unit : difference.second->unit;
  const std::span<const AttributeInfo> all = attribute_catalogue();
  const auto alike = std::ranges::find(all, unit, &AttributeInfo::unit);
  return unit.empty() || alike == all.end() ? nullptr : &*alike;
}

Change change_of(const Difference& difference) {
  const AttributeInfo* info = info_of(difference);
  if (info == nullptr || !difference.relative || info->better == Better::kNeither) return Change::kNeither;
  return (info->better == Better::kLower) == (*difference.relative < 0) ? Change::kBetter : Change::kWorse;
}

std::vector<std::string> Comparison::all_notes() const {
  std::vector<std::string> all = other_devices;
  all.insert(all.end(), notes.begin(), notes.end());
  all.insert(all.end(), environment.begin(), environment.end());
  return all;
}

Comparison compare(const Topology& first, const Topology& second, const SideNames& names) {
  Comparison result;
  result.first = &first;
  result.second = &second;
  add_notes(names, result);
  compare_attributes("gpu", "Device", first.device, second.device, names, result);
  compare_attributes("compute", "Compute", first.compute, second.compute, names, result);
  static const AttributeMap kNone;
  // An operation that is missing from a report was not selected there.
  const InstructionIndex instructions_of_second = index_of(second.instructions);
  for (const Instruction& instruction : first.instructions) {
    const auto other = instructions_of_second.find(instruction.id);
    if (other == instructions_of_second.end()) continue;
    compare_attributes(report::instruction_group(instruction), instruction.title, instruction.attributes,
                       other->second->attributes, names, result);
  }
  const ElementIndex of_first = index_of(first.memory);
  const ElementIndex of_second = index_of(second.memory);
  for (const MemoryElement& element : first.memory) {
    const auto other = of_second.find(element.id);
    compare_attributes(element.id, element.title, element.attributes,
                       other == of_second.end() ? kNone : other->second->attributes, names, result);
  }
  for (const MemoryElement& element : second.memory) {
    if (!of_first.contains(element.id)) {
      compare_attributes(element.id, element.title, kNone, element.attributes, names, result);
    }
  }
  std::map<std::string, double> largest;
  std::vector<std::string> order;  // groups in the report's order, which breaks ties
  for (const Difference& difference : result.differences) {
    if (!largest.contains(difference.group)) order.push_back(difference.group);
    largest[difference.group] = std::max(largest[difference.group], rank(difference));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](const std::string& a, const std::string& b) { return largest[a] > largest[b]; });
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::stable_sort(result.differences.begin(), result.differences.end(), [&](const Difference& a, const Difference& b) {
    return std::pair(place[a.group], -rank(a)) < std::pair(place[b.group], -rank(b));
  });
  return result;
}

const Attribute* find_value(const Topology& topology, const std::string& group, const std::string& attribute) {
  if (group == "gpu") return find(topology.device, attribute);
  if (group == "compute") return find(topology.compute, attribute);
  if (const Instruction* instruction = instruction_of(topology, group)) return find(instruction->attributes, attribute);
  return topology.find_attribute(group, attribute);
}

const Instruction* instruction_of(const Topology& topology, std::string_view group) {
  const std::string lead = fmt::format("{}.", kInstructions);
  return group.starts_with(lead) ? topology.find_instruction(group.substr(lead.size())) : nullptr;
}

std::string side_text(const Attribute* attribute) {
  if (attribute == nullptr) return "not in the report";
  if (!attribute->available()) return why_absent(*attribute);
  // A map of SMs as ranges, which reveal differences and wrap well; of dozens of groups only their number.
  const std::vector<std::string> groups = unit_groups_ranges(attribute->value);
  constexpr std::size_t kMaxGroups = 16;
  if (groups.size() > kMaxGroups) return brief_value_text(*attribute);
  if (!groups.empty()) return fmt::format("{}", fmt::join(groups, "; "));
  const std::string interval = interval_text(*attribute);
  return value_text(*attribute) + (interval.empty() ? "" : " " + interval);
}

std::string relative_text(const Difference& difference) {
  if (!difference.relative) return "";
  return fmt::format("{}{}%", *difference.relative > 0 ? "+" : "", significant(100 * *difference.relative, 3));
}

std::string change_text(const Difference& difference) {
  const Change change = change_of(difference);
  return relative_text(difference) + (change == Change::kBetter  ? ", better"
                                      : change == Change::kWorse ? ", worse"
                                                                 : "");
}

}  // namespace gputopo::report
