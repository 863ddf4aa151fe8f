#include "gputopo/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "gputopo/error.h"

namespace gputopo {
namespace {

constexpr std::array<std::string_view, 4> kSourceNames = {"measured", "api", "inferred", "unavailable"};
constexpr std::array<std::string_view, 11> kReasonNames = {
    "none",        "not_applicable", "not_supported", "not_present",  "inconclusive", "timed_out",
    "interrupted", "device_error",   "dependency",    "not_selected", "disturbed"};
constexpr std::array<std::string_view, 6> kPlotNames = {"none", "line", "points", "bars", "density", "map"};
constexpr std::array<std::string_view, 5> kRoleNames = {"axis", "series", "value", "low", "high"};

template <typename Enum, std::size_t N>
Enum parse_name(const std::array<std::string_view, N>& names, std::string_view text, std::string_view what) {
  const auto* found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    throw FormatError(fmt::format("'{}' is not a {}: expected one of {}", text, what, fmt::join(names, ", ")));
  }
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view to_string(Source source) { return kSourceNames.at(static_cast<std::size_t>(source)); }
std::string_view to_string(Reason reason) { return kReasonNames.at(static_cast<std::size_t>(reason)); }
std::string_view to_string(Plot plot) { return kPlotNames.at(static_cast<std::size_t>(plot)); }
std::string_view to_string(ColumnRole role) { return kRoleNames.at(static_cast<std::size_t>(role)); }
Source parse_source(std::string_view text) { return parse_name<Source>(kSourceNames, text, "source"); }
Reason parse_reason(std::string_view text) { return parse_name<Reason>(kReasonNames, text, "reason"); }
Plot parse_plot(std::string_view text) { return parse_name<Plot>(kPlotNames, text, "kind of plot"); }
ColumnRole parse_column_role(std::string_view text) { return parse_name<ColumnRole>(kRoleNames, text, "column role"); }

std::optional<double> Attribute::number() const {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

const Value* Attribute::find_detail(std::string_view name) const {
  for (const auto& [key, detail_value] : details) {
    if (key == name) return &detail_value;
  }
  return nullptr;
}

void Attribute::add_detail(std::string name, Value figure) { details.emplace_back(std::move(name), std::move(figure)); }

void Attribute::add_condition(std::string name, Value figure) {
  conditions.emplace_back(std::move(name), std::move(figure));
}

Attribute api_value(Value value, std::string unit) {
  Attribute attribute;
  attribute.value = std::move(value);
  attribute.unit = std::move(unit);
  attribute.source = Source::kApi;
  return attribute;
}

Attribute inferred_value(Value value, std::string unit, std::string method) {
  Attribute attribute = api_value(std::move(value), std::move(unit));
  attribute.source = Source::kInferred;
  attribute.method = std::move(method);
  return attribute;
}

Attribute unavailable(Reason reason, std::string detail) {
  Attribute attribute;
  attribute.reason = reason;
  attribute.detail = std::move(detail);
  return attribute;
}

const Attribute* find(const AttributeMap& map, std::string_view name) {
  const auto found = std::find_if(map.begin(), map.end(), [&](const auto& entry) { return entry.first == name; });
  return found == map.end() ? nullptr : &found->second;
}

Attribute& get_or_add(AttributeMap& map, std::string_view name) {
  const auto found = std::find_if(map.begin(), map.end(), [&](const auto& entry) { return entry.first == name; });
  if (found != map.end()) return found->second;
  return map.emplace_back(std::string(name), Attribute{}).second;
}

const Attribute* find(const AttributeMap& map, AttributeId id) { return find(map, to_string(id)); }
Attribute& get_or_add(AttributeMap& map, AttributeId id) { return get_or_add(map, to_string(id)); }

const MemoryElement* Topology::find_memory(ElementId id) const { return find_memory(to_string(id)); }
const Attribute* Topology::find_attribute(ElementId element, AttributeId attribute) const {
  return find_attribute(to_string(element), to_string(attribute));
}

const MemoryElement* Topology::find_memory(std::string_view id) const {
  const auto found = std::find_if(memory.begin(), memory.end(), [&](const MemoryElement& m) { return m.id == id; });
  return found == memory.end() ? nullptr : &*found;
}

const Instruction* Topology::find_instruction(std::string_view id) const {
  const auto found = std::ranges::find(instructions, id, &Instruction::id);
  return found == instructions.end() ? nullptr : &*found;
}

const Attribute* Topology::find_attribute(std::string_view element, std::string_view attribute) const {
  const MemoryElement* found = find_memory(element);
  return found == nullptr ? nullptr : find(found->attributes, attribute);
}

}  // namespace gputopo
