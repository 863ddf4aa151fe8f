#include "report/words/value_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "gputopo/catalogue.h"
#include "model/sm_clock.h"
#include "report/words/unit_map.h"
#include "report/words/units.h"

namespace gputopo::report {

std::string method_text(const Attribute& attribute) {
  if (attribute.source == Source::kApi) return "";
  return attribute.method == "littles_law" ? "Little's law" : readable(attribute.method);
}

namespace {

// "97182023680 B" becomes "90.51 GiB". The code that writes reasons does not format units.
std::string with_readable_bytes(std::string_view text) {
  constexpr std::size_t kFewDigits = 4;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string result;
  while (!text.empty()) {
    std::size_t digits = 0;
    while (digits < text.size() && is_digit(text[digits])) ++digits;
    const std::string_view behind = text.substr(digits);
    const bool ends_there =
        behind.size() == 2 ||
        (behind.size() > 2 && std::isalnum(static_cast<unsigned char>(behind[2])) == 0 && behind[2] != '/');
    double bytes = 0;
    const bool is_number = digits > kFewDigits && behind.starts_with(" B") && ends_there &&
                           std::from_chars(text.data(), text.data() + digits, bytes).ec == std::errc();
    result += is_number ? human_bytes(bytes) : std::string(text.substr(0, std::max<std::size_t>(digits, 1)));
    text.remove_prefix(is_number ? digits + 2 : std::max<std::size_t>(digits, 1));
  }
  return result;
}

}  // namespace

std::string why_absent(const Attribute& attribute) {
  const std::string reason = readable(to_string(attribute.reason));
  return attribute.detail.empty() ? reason : fmt::format("{}: {}", reason, with_readable_bytes(attribute.detail));
}

std::string interval_text(const Attribute& attribute) {
  if (!attribute.low || !attribute.high) return "";
  // An inferred value is no more exact than the values behind it.
  if (*attribute.low == *attribute.high) return attribute.source == Source::kInferred ? "" : "(exact)";
  std::string low = human_value(*attribute.low, attribute.unit);
  const std::string high = human_value(*attribute.high, attribute.unit);
  // One unit is enough if both ends share it.
  const std::size_t low_unit = low.find(' ');
  const std::size_t high_unit = high.find(' ');
  if (low_unit != std::string::npos && high_unit != std::string::npos &&
      low.substr(low_unit) == high.substr(high_unit)) {
    low.resize(low_unit);
  }
  return fmt::format("({} to {})", low, high);
}

std::string value_text(const Attribute& attribute) {
  const std::string text = human_value(attribute.value, attribute.unit);
  if (text.empty()) return "none";
  return is_lower_bound(attribute) ? "at least " + text : text;
}

std::string brief_value_text(const Attribute& attribute) {
  const std::string groups = unit_groups_text(attribute.value);
  return groups.empty() ? value_text(attribute) : groups;
}

std::optional<double> far_latency(const Attribute& latency) {
  const auto number_of = [&](std::string_view detail) -> const double* {
    const Value* value = latency.find_detail(detail);
    return value == nullptr ? nullptr : std::get_if<double>(value);
  };
  const double* near = number_of("near_cycles");
  const double* far = number_of("far_cycles");
  const bool is_near = near != nullptr && latency.number() == *near;
  return is_near && far != nullptr ? std::optional(*far) : std::nullopt;
}

std::string latency_text(const Attribute& latency) {
  const std::optional<double> far = far_latency(latency);
  return value_text(latency) + (far ? fmt::format(" near, {} far", significant(*far, 4)) : "");
}

bool is_lower_bound(const Attribute& attribute) {
  // A count whose interval ends more than 25% above it: for example of things that could be told apart.
  constexpr double kAtLeastSoMuchMore = 0.25;
  const std::optional<double> value = attribute.number();
  return value && *value > 0 && attribute.unit.empty() && attribute.low == value && attribute.high &&
         *attribute.high > (1 + kAtLeastSoMuchMore) * *value;
}

std::optional<double> bytes_per_clock_and_unit(const Topology& topology, const Attribute& bandwidth) {
  const Value* detail = bandwidth.find_detail("bytes_per_clock_per_sm");
  if (const double* told = detail == nullptr ? nullptr : std::get_if<double>(detail)) return *told;
  const Attribute* units = find(topology.compute, AttributeId::kSmCount);
  const std::optional<double> mhz = sm_clock_mhz(bandwidth);
  const bool is_known = mhz && units != nullptr && units->number() && *units->number() > 0 && bandwidth.number();
  return is_known ? std::optional(*bandwidth.number() / (*mhz * 1e6) / *units->number()) : std::nullopt;
}

std::string rate_of_unit_text(const Topology& topology, const Attribute& bandwidth) {
  const std::optional<double> bytes = bytes_per_clock_and_unit(topology, bandwidth);
  return bytes ? fmt::format("{} B/clk/{}", significant(*bytes, 4), unit_name(topology.vendor)) : "";
}

std::string extent_text(std::string_view attribute) {
  const AttributeInfo* info = find_attribute(attribute);
  const bool is_of_all =
      info != nullptr && (info->id == AttributeId::kReadBandwidth || info->id == AttributeId::kWriteBandwidth);
  return is_of_all ? ", whole chip" : "";
}

std::string whole_value_text(const Attribute& attribute) {
  const std::vector<std::string> groups = unit_groups_ranges(attribute.value);
  return groups.empty() ? value_text(attribute) : fmt::format("{}", fmt::join(groups, "; "));
}

std::vector<NamedText> named_texts(const NamedValues& named, const Attribute& attribute) {
  // If the value is a list of numbers, a detail with one of them gets the list's unit, as in latency_patterns.
  const auto* list = std::get_if<std::vector<double>>(&attribute.value);
  std::vector<NamedText> texts;
  for (const auto& [name, value] : named) {
    DetailName words = detail_name(name);
    const auto* number = std::get_if<double>(&value);
    const bool is_of_list = list != nullptr && number != nullptr && std::ranges::find(*list, *number) != list->end();
    if (words.unit.empty() && is_of_list) words.unit = attribute.unit;
    texts.push_back({std::move(words.label), human_value(value, words.unit)});
  }
  return texts;
}

std::string details_note(const Attribute& attribute) {
  const bool is_of_others = attribute.method == "untimed_chain" && attribute.find_detail("minimum_cycles") != nullptr;
  return is_of_others ? "minimum, percentiles and maximum are from loads timed one by one, minus the timer cost; the "
                        "value is from an untimed chain, so it may differ from them by a cycle"
                      : "";
}

std::string details_text(const Attribute& attribute) {
  std::string text;
  for (const auto& [label, value] : named_texts(attribute.details, attribute)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", label, value);
  }
  if (const std::string note = details_note(attribute); !note.empty()) text += fmt::format(" ({})", note);
  std::string lead = text.empty() ? "at " : "; at ";
  for (const auto& [label, value] : named_texts(attribute.conditions, attribute)) {
    text += fmt::format("{}{} {}", std::exchange(lead, ", "), label, value);
  }
  return text;
}

std::vector<ValueGroup> value_groups(const Topology& topology) {
  std::vector<ValueGroup> groups;
  for (const MemoryElement& element : topology.memory) {
    // "device" is the whole GPU, as in the JSON, so its memory needs another path.
    groups.push_back(
        {element.id, element.id == "device" ? "memory.device" : element.id, element.title, &element.attributes});
  }
  groups.push_back({"gpu", "device", "Device", &topology.device});
  groups.push_back({"compute", "compute", "Compute", &topology.compute});
  for (const Instruction& instruction : topology.instructions) {
    const std::string id = instruction_group(instruction);
    groups.push_back({id, id, fmt::format("{} ({})", instruction.id, instruction.title), &instruction.attributes});
  }
  return groups;
}

std::string json_path(std::string_view group, std::string_view attribute) {
  // Operation ids contain dots: "fma.f32".
  if (group.size() > kInstructions.size() && group.starts_with(kInstructions)) {
    return fmt::format("compute.{}[\"{}\"].{}", kInstructions, group.substr(kInstructions.size() + 1), attribute);
  }
  if (group == "gpu") return fmt::format("device.{}", attribute);
  const ElementInfo* element = find_element(group);
  const char* section = element != nullptr && element->is_unit() ? "compute." : group == "compute" ? "" : "memory.";
  return fmt::format("{}{}.{}", section, group, attribute);
}

std::string instruction_group(const Instruction& instruction) {
  return fmt::format("{}.{}", kInstructions, instruction.id);
}

}  // namespace gputopo::report
