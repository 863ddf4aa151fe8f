#include "discover/findings/reported_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace gputopo {
namespace {

struct ReportedSize {
  ElementId element;
  std::optional<std::uint64_t> DeviceInfo::*bytes;
};
constexpr ReportedSize kReportedSizes[] = {{ElementId::kL2, &DeviceInfo::l2_bytes},
                                           {ElementId::kL3, &DeviceInfo::l3_bytes},
                                           {ElementId::kShared, &DeviceInfo::shared_bytes_per_sm},
                                           {ElementId::kLds, &DeviceInfo::shared_bytes_per_sm},
                                           {ElementId::kDevice, &DeviceInfo::memory_bytes}};

std::optional<double> number_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

// One value if all are equal; otherwise the minimum, maximum or mean, by the condition's name, or a list.
Value together(const std::string& name, const std::vector<Value>& values) {
  const bool alike = std::ranges::all_of(values, [&](const Value& value) { return value == values.front(); });
  if (alike) return values.front();
  std::set<double> numbers;
  std::vector<std::string> texts;
  for (const Value& value : values) {
    if (const auto* list = std::get_if<std::vector<double>>(&value)) numbers.insert(list->begin(), list->end());
    if (const auto number = number_of(value)) numbers.insert(*number);
    if (const auto* text = std::get_if<std::string>(&value)) texts.push_back(*text);
  }
  if (numbers.empty()) return texts;
  if (name == "sm_clock_low_mhz" || name == "started_seconds") return *numbers.begin();
  if (name == "sm_clock_high_mhz") return *numbers.rbegin();
  if (name == "sm_clock_mhz") {
    const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
    return std::round(10 * mean) / 10;
  }
  return std::vector<double>(numbers.begin(), numbers.end());
}

}  // namespace

Attribute reported_size(const DeviceInfo& info, ElementId element) {
  const auto* row = std::ranges::find(kReportedSizes, element, &ReportedSize::element);
  if (row == std::end(kReportedSizes) || !(info.*row->bytes)) {
    return unavailable(Reason::kNotSupported, "the driver does not report this value");
  }
  return api_value(static_cast<std::int64_t>(*(info.*row->bytes)), "B");
}

Attribute inferred_from(Attribute other_path, std::string method) {
  if (!other_path.available()) return other_path;
  other_path.source = Source::kInferred;
  other_path.method = std::move(method);
  other_path.samples.clear();
  return other_path;
}

NamedValues conditions_of(std::initializer_list<const Attribute*> attributes) {
  std::vector<std::pair<std::string, std::vector<Value>>> by_name;
  for (const Attribute* attribute : attributes) {
    for (const auto& [name, value] : attribute->conditions) {
      auto found = std::ranges::find(by_name, name, [](const auto& entry) { return entry.first; });
      if (found == by_name.end()) found = by_name.insert(by_name.end(), {name, {}});
      found->second.push_back(value);
    }
  }
  NamedValues conditions;
  for (const auto& [name, values] : by_name) conditions.emplace_back(name, together(name, values));
  return conditions;
}

}  // namespace gputopo
