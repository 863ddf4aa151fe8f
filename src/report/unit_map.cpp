#include "report/unit_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace gputopo::report {
namespace {

// NVIDIA's names by size: every TPC so far had two or three SMs, and what is larger and shares a cache is a GPC or a
// part of one.
constexpr std::size_t kLargestTpc = 3;

std::size_t largest(const UnitGroups& groups) {
  std::size_t size = 0;
  for (const auto& group : groups) size = std::max(size, group.size());
  return size;
}

// Empty where a group is no list of numbers or an SM is in two.
UnitGroups parse_groups(const Attribute* attribute) {
  const auto* texts = attribute == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&attribute->value);
  if (texts == nullptr) return {};
  UnitGroups groups;
  std::set<int> seen;
  for (const std::string& text : *texts) {
    groups.push_back(parse_unit_group(text));
    if (groups.back().empty()) return {};
    for (const int unit : groups.back()) {
      if (!seen.insert(unit).second) return {};
    }
  }
  return groups;
}

// SMs of a die are numbered one after the other.
UnitGroups dies_of(const Topology& topology) {
  const Attribute* per_die = find(topology.compute, "sms_per_xcd");
  const Attribute* count = find(topology.compute, "sm_count");
  if (per_die == nullptr || count == nullptr || !per_die->number() || !count->number()) return {};
  constexpr double kMostUnits = 1e5;
  const auto size = static_cast<int>(std::clamp(*per_die->number(), 0.0, kMostUnits));
  const auto units = static_cast<int>(std::clamp(*count->number(), 0.0, kMostUnits));
  if (size < 1) return {};
  const Attribute* physical = find(topology.compute, "physical_sm_ids");
  const auto* ids = physical == nullptr ? nullptr : std::get_if<std::vector<double>>(&physical->value);
  UnitGroups groups;
  for (int unit = 0; unit < units; ++unit) {
    if (unit % size == 0) groups.emplace_back();
    const bool is_known = ids != nullptr && static_cast<std::size_t>(unit) < ids->size();
    groups.back().push_back(is_known ? static_cast<int>(ids->at(static_cast<std::size_t>(unit))) : unit);
  }
  return groups;
}

bool lies_within(const UnitGroups& inner, const UnitGroups& outer) {
  std::map<int, std::size_t> group_of;
  for (std::size_t g = 0; g < outer.size(); ++g) {
    for (const int unit : outer[g]) group_of[unit] = g;
  }
  return std::all_of(inner.begin(), inner.end(), [&](const std::vector<int>& group) {
    const auto first = group_of.find(group.front());
    return first != group_of.end() && std::all_of(group.begin(), group.end(), [&](int unit) {
             const auto at = group_of.find(unit);
             return at != group_of.end() && at->second == first->second;
           });
  });
}

}  // namespace

std::vector<int> parse_unit_group(std::string_view text) {
  std::vector<int> units;
  while (true) {
    int unit = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), unit);
    if (error != std::errc() || unit < 0) return {};
    units.push_back(unit);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return units;
    if (text.front() != '+') return {};
    text.remove_prefix(1);
  }
}

std::string unit_ranges(const std::vector<int>& units) {
  std::vector<int> sorted = units;
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
  Attribute holder;
  holder.value = value;
  const UnitGroups groups = parse_groups(&holder);
  if (groups.empty()) return "";
  std::map<std::size_t, std::size_t, std::greater<>> by_size;
  for (const auto& group : groups) ++by_size[group.size()];
  std::vector<std::string> parts;
  for (const auto& [size, count] : by_size) {
    parts.push_back(fmt::format("{} group{} of {}", count, count == 1 ? "" : "s", size));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> unit_groups_ranges(const Value& value) {
  Attribute holder;
  holder.value = value;
  std::vector<std::string> texts;
  for (const auto& group : parse_groups(&holder)) texts.push_back(unit_ranges(group));
  return texts;
}

std::vector<UnitLevel> unit_levels(const Topology& topology) {
  std::vector<UnitLevel> candidates;
  candidates.push_back({"XCD", "on one die", true, dies_of(topology)});
  for (const MemoryElement& element : topology.memory) {
    candidates.push_back({element.title + " part", "near one part of the " + element.title, true,
                          parse_groups(find(element.attributes, "near_sms"))});
    UnitLevel shared{"", "behind one " + element.title, false,
                     parse_groups(find(element.attributes, "shared_between"))};
    if (topology.vendor == "NVIDIA") shared.name = largest(shared.groups) <= kLargestTpc ? "TPC" : "GPC";
    candidates.push_back(std::move(shared));
  }
  std::erase_if(candidates,
                [](const UnitLevel& level) { return level.groups.size() < 2 || largest(level.groups) < 2; });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const UnitLevel& a, const UnitLevel& b) { return a.groups.size() < b.groups.size(); });
  std::vector<UnitLevel> levels;
  std::set<std::string> names;
  for (UnitLevel& level : candidates) {
    if (!levels.empty() && !lies_within(level.groups, levels.back().groups)) continue;
    // Caches that the same SMs share make one level, and of two levels only the outer can be what its name says.
    if (!levels.empty() && levels.back().groups.size() == level.groups.size()) continue;
    if (level.name.empty() || !names.insert(level.name).second) level.name = "group";
    levels.push_back(std::move(level));
  }
  return levels;
}

UnitGroups groups_within(const UnitGroups& inner, const std::vector<int>& outer) {
  std::set<int> left(outer.begin(), outer.end());
  UnitGroups result;
  for (const auto& group : inner) {
    if (!left.contains(group.front())) continue;
    result.push_back(group);
    for (const int unit : group) left.erase(unit);
  }
  if (!left.empty()) result.emplace_back(left.begin(), left.end());
  return result;
}

}  // namespace gputopo::report
