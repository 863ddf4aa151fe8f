#include "report/words/unit_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "gputopo/catalogue.h"

namespace gputopo::report {
namespace {

// Every NVIDIA TPC so far has two or three SMs. A larger group that shares a cache is a GPC or a part of one.
constexpr std::size_t kLargestTpc = 3;

std::size_t largest(const std::vector<Units>& groups) {
  std::size_t size = 0;
  for (const Units& group : groups) size = std::max(size, group.size());
  return size;
}

// Returns a value's groups; none if the value is not a map, a group is empty, or an SM is in two groups.
std::vector<Units> map_of(const Value& value) {
  const auto* held = std::get_if<UnitGroups>(&value);
  if (held == nullptr) return {};
  std::set<std::uint32_t> seen;
  for (const Units& group : held->groups) {
    if (group.empty()) return {};
    for (const std::uint32_t unit : group) {
      if (!seen.insert(unit).second) return {};
    }
  }
  return held->groups;
}

std::vector<Units> map_of(const Attribute* attribute) {
  return attribute == nullptr ? std::vector<Units>{} : map_of(attribute->value);
}

// Assumes that SMs of a die have consecutive numbers.
std::vector<Units> dies_of(const Topology& topology) {
  const Attribute* per_die = find(topology.compute, AttributeId::kSmsPerXcd);
  const Attribute* count = find(topology.compute, AttributeId::kSmCount);
  if (per_die == nullptr || count == nullptr || !per_die->number() || !count->number()) return {};
  constexpr double kMaxUnits = 1e5;
  const auto size = static_cast<std::uint32_t>(std::clamp(*per_die->number(), 0.0, kMaxUnits));
  const auto units = static_cast<std::uint32_t>(std::clamp(*count->number(), 0.0, kMaxUnits));
  if (size < 1) return {};
  const Attribute* physical = find(topology.compute, AttributeId::kPhysicalSmIds);
  const auto* ids = physical == nullptr ? nullptr : std::get_if<std::vector<double>>(&physical->value);
  std::vector<Units> groups;
  for (std::uint32_t unit = 0; unit < units; ++unit) {
    if (unit % size == 0) groups.emplace_back();
    const bool is_known = ids != nullptr && unit < ids->size() && ids->at(unit) >= 0 && ids->at(unit) <= kMaxUnits;
    groups.back().push_back(is_known ? static_cast<std::uint32_t>(ids->at(unit)) : unit);
  }
  return groups;
}

bool lies_within(const std::vector<Units>& inner, const std::vector<Units>& outer) {
  std::map<std::uint32_t, std::size_t> group_of;
  for (std::size_t g = 0; g < outer.size(); ++g) {
    for (const std::uint32_t unit : outer[g]) group_of[unit] = g;
  }
  return std::ranges::all_of(inner, [&](const Units& group) {
    const auto first = group_of.find(group.front());
    return first != group_of.end() && std::ranges::all_of(group, [&](std::uint32_t unit) {
             const auto at = group_of.find(unit);
             return at != group_of.end() && at->second == first->second;
           });
  });
}

UnitLevel parts_of(const MemoryElement& element) {
  return {element.title + " partition", "near one partition of the " + element.title, true,
          map_of(find(element.attributes, AttributeId::kNearSms))};
}

std::vector<UnitLevel> candidates_of(const Topology& topology, bool with_parts) {
  std::vector<UnitLevel> candidates;
  candidates.push_back({"XCD", kOnOneDie, true, dies_of(topology)});
  for (const MemoryElement& element : topology.memory) {
    if (with_parts) {
      candidates.push_back(parts_of(element));
    }
    candidates.push_back({"GPC", "in one GPC", false, map_of(find(element.attributes, AttributeId::kGpcSms))});
    UnitLevel shared{"", "behind one " + element.title, false,
                     map_of(find(element.attributes, AttributeId::kSharedBetween))};
    if (topology.vendor == to_string(Vendor::kNvidia))
      shared.name = largest(shared.groups) <= kLargestTpc ? "TPC" : "GPC";
    candidates.push_back(std::move(shared));
  }
  return candidates;
}

std::vector<UnitLevel> nested(std::vector<UnitLevel> candidates) {
  std::erase_if(candidates,
                [](const UnitLevel& level) { return level.groups.size() < 2 || largest(level.groups) < 2; });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const UnitLevel& a, const UnitLevel& b) { return a.groups.size() < b.groups.size(); });
  std::vector<UnitLevel> levels;
  std::set<std::string> names;
  for (UnitLevel& level : candidates) {
    if (!levels.empty() && !lies_within(level.groups, levels.back().groups)) continue;
    // Caches that the same SMs share form one level. If two levels have the same name, only the outer one keeps it.
    if (!levels.empty() && levels.back().groups.size() == level.groups.size()) continue;
    if (level.name.empty() || !names.insert(level.name).second) level.name = "group";
    levels.push_back(std::move(level));
  }
  return levels;
}

}  // namespace

std::string unit_ranges(const Units& units) {
  Units sorted = units;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    parts.push_back(last == i ? std::to_string(sorted[i]) : fmt::format("{}-{}", sorted[i], sorted[last]));
    i = last + 1;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string unit_groups_text(const Value& value) {
  std::map<std::size_t, std::size_t, std::greater<>> by_size;
  for (const Units& group : map_of(value)) ++by_size[group.size()];
  std::vector<std::string> parts;
  for (const auto& [size, count] : by_size) {
    parts.push_back(fmt::format("{} group{} of {}", count, count == 1 ? "" : "s", size));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> unit_groups_ranges(const Value& value) {
  std::vector<std::string> texts;
  for (const Units& group : map_of(value)) texts.push_back(unit_ranges(group));
  return texts;
}

std::vector<UnitLevel> unit_levels(const Topology& topology) { return nested(candidates_of(topology, true)); }

std::vector<UnitLevel> drawn_levels(const Topology& topology) {
  std::vector<UnitLevel> levels = nested(candidates_of(topology, false));
  const bool has_large =
      std::ranges::any_of(levels, [](const UnitLevel& level) { return largest(level.groups) > kLargestTpc; });
  return has_large ? levels : unit_levels(topology);
}

UnitLevel near_parts(const Topology& topology) {
  for (const MemoryElement& element : topology.memory) {
    UnitLevel parts = parts_of(element);
    if (parts.groups.size() > 1) return parts;
  }
  return {};
}

std::vector<Units> groups_within(const std::vector<Units>& inner, const Units& outer) {
  std::set<std::uint32_t> left(outer.begin(), outer.end());
  std::vector<Units> result;
  for (const Units& group : inner) {
    if (!left.contains(group.front())) continue;
    result.push_back(group);
    for (const std::uint32_t unit : group) left.erase(unit);
  }
  if (!left.empty()) result.emplace_back(left.begin(), left.end());
  return result;
}

}  // namespace gputopo::report
