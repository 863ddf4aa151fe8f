#include "report/words/values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "file/sanitize.h"
#include "gputopo/error.h"
#include "report/words/device_facts.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::report {
namespace {

std::optional<double> positive(const std::optional<double>& number) {
  return number && std::isfinite(*number) && *number >= 0 ? number : std::nullopt;
}

std::optional<double> number_of(const Attribute* attribute) {
  if (attribute == nullptr || !attribute->available()) return std::nullopt;
  return positive(attribute->number());
}

const Attribute* of_device(const Topology& topology, AttributeId id) {
  const Attribute* attribute = find(topology.compute, id);
  return attribute != nullptr ? attribute : find(topology.device, id);
}

// Throws one line: the missing value, the reason, and how to obtain it.
[[noreturn]] void fail(std::string_view format, const std::string& name, const Attribute* attribute,
                       std::string advice) {
  std::string why = "which the report does not have";
  if (attribute != nullptr && !attribute->available()) {
    why = fmt::format("which is unavailable ({})", sanitized_line(why_absent(*attribute)));
    const bool is_final = attribute->reason == Reason::kNotPresent || attribute->reason == Reason::kNotApplicable;
    if (is_final) advice = "the format cannot describe a GPU without this value";
    if (attribute->reason == Reason::kNotSupported)
      advice = "this value cannot be measured on this GPU, or the GPU's driver does not report it";
  } else if (attribute != nullptr) {
    why = "which is not a number that the format can hold";
  }
  throw FormatError(fmt::format("{} needs {}, {}; {}", format, name, why, advice));
}

std::int64_t needed_number(std::optional<std::int64_t> number, std::string_view format, const std::string& name,
                           const Attribute* attribute, const std::string& advice) {
  if (!number) fail(format, name, attribute, advice);
  return *number;
}

int number_in(std::string_view text) {
  int number = -1;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && rest == text.data() + text.size() ? number : -1;
}

std::optional<std::pair<int, int>> pair_of(int major, int minor) {
  if (major < 0 || minor < 0) return std::nullopt;
  return std::pair(major, minor);
}

}  // namespace

std::optional<double> number_of(const Topology& topology, ElementId element, AttributeId attribute) {
  return number_of(topology.find_attribute(element, attribute));
}

std::optional<double> number_of(const Topology& topology, AttributeId attribute) {
  return number_of(of_device(topology, attribute));
}

std::optional<double> detail_of(const Attribute* attribute, std::string_view name) {
  const Value* value = attribute == nullptr ? nullptr : attribute->find_detail(name);
  if (value == nullptr) return std::nullopt;
  Attribute holder;
  holder.value = *value;
  return positive(holder.number());
}

std::optional<std::int64_t> whole(std::optional<double> number) {
  constexpr double kMostExact = 9007199254740992.0;  // 2^53
  if (!number || !(*number <= kMostExact)) return std::nullopt;
  return std::llround(*number);
}

std::optional<std::int64_t> count_of(const Topology& topology, ElementId element, AttributeId attribute) {
  return whole(number_of(topology, element, attribute));
}

std::optional<std::int64_t> count_of(const Topology& topology, AttributeId attribute) {
  return whole(number_of(topology, attribute));
}

std::int64_t needed(const Topology& topology, std::string_view format, ElementId element, AttributeId attribute) {
  const std::string name = fmt::format("{}.{}", to_string(element), to_string(attribute));
  return needed_number(count_of(topology, element, attribute), format, name,
                       topology.find_attribute(element, attribute), fmt::format("measure it: gputopo --only {}", name));
}

std::int64_t needed(const Topology& topology, std::string_view format, AttributeId attribute) {
  const bool is_compute = info_of(attribute).group == AttributeGroup::kCompute;
  return needed_number(
      count_of(topology, attribute), format,
      fmt::format("{}.{}", is_compute ? "compute" : "device", to_string(attribute)), of_device(topology, attribute),
      "gputopo reads this value from the driver: discover the GPU again with a driver that reports it");
}

ElementId first_level(const Topology& topology) {
  return vendor_of(topology.vendor) == Vendor::kAmd ? ElementId::kVl1 : ElementId::kL1;
}

ElementId scratchpad(const Topology& topology) {
  return vendor_of(topology.vendor) == Vendor::kAmd ? ElementId::kLds : ElementId::kShared;
}

std::optional<std::pair<int, int>> capability_of(const Topology& topology) {
  const Attribute* told = find(topology.device, AttributeId::kComputeCapability);
  const auto* text = told == nullptr ? nullptr : std::get_if<std::string>(&told->value);
  if (text != nullptr) {
    const std::size_t point = text->find('.');
    if (point == std::string::npos) return std::nullopt;
    return pair_of(number_in(std::string_view(*text).substr(0, point)),
                   number_in(std::string_view(*text).substr(point + 1)));
  }
  // The last two characters are the minor version and the stepping, one hexadecimal digit each.
  constexpr std::string_view kGfx = "gfx";
  const std::size_t at = topology.architecture.find(kGfx);
  if (at == std::string::npos) return std::nullopt;
  std::string_view gfx = std::string_view(topology.architecture).substr(at + kGfx.size());
  gfx = gfx.substr(0, gfx.find_first_not_of("0123456789abcdef"));
  constexpr std::size_t kShortest = 3;
  if (gfx.size() < kShortest) return std::nullopt;
  return pair_of(number_in(gfx.substr(0, gfx.size() - 2)), number_in(gfx.substr(gfx.size() - 2, 1)));
}

std::vector<std::string> texts_of(const Attribute* attribute) {
  const auto* texts = attribute == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&attribute->value);
  return texts == nullptr ? std::vector<std::string>{} : *texts;
}

std::vector<double> numbers_of(const Attribute* attribute, std::string_view detail) {
  const Value* value = attribute == nullptr ? nullptr : attribute->find_detail(detail);
  const auto* numbers = value == nullptr ? nullptr : std::get_if<std::vector<double>>(value);
  return numbers == nullptr ? std::vector<double>{} : *numbers;
}

std::vector<std::string> notices(const Topology& topology) {
  std::vector<std::string> lines;
  if (topology.simulated) lines.emplace_back("SIMULATED: these are values of a simulated GPU");
  if (!topology.complete) lines.emplace_back("INCOMPLETE: the discovery ended before everything was measured");
  for (const std::string& warning : topology.warnings) lines.push_back(sanitized_line("warning: " + warning));
  return lines;
}

std::string origin(const Topology& topology) {
  return sanitized_line(fmt::format("{}, measured {}", topology.generator, when(topology)));
}

}  // namespace gputopo::report
