#include "model/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace gputopo {
namespace {

constexpr std::string_view kNoFault = "none";

// A fault shows as a count above 0, a flag that is set, or a text other than "none".
struct Rule {
  AttributeId attribute;
  const char* text;  // {}: the value
  const char* next_step;
};
constexpr std::array kRules = {
    Rule{AttributeId::kEccUncorrected, "{} uncorrected ECC errors since the driver was loaded",
         "read 'nvidia-smi -q -d ECC,ROW_REMAPPER' (AMD: 'amd-smi metric --ecc'), reset the GPU, and replace it if "
         "errors return"},
    Rule{AttributeId::kRowRemapPending, "a memory repair is pending until a reset",
         "reset the GPU ('nvidia-smi --gpu-reset') or restart the node"},
    Rule{AttributeId::kRowRemapFailed, "a memory repair failed", "replace the GPU"},
    Rule{
        AttributeId::kSlowdown, "its clocks are throttled: {}",
        "look for the cause with 'nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER', and check cooling and power supply"},
    Rule{AttributeId::kNvlinkErrors, "{} NVLink errors",
         "run 'nvidia-smi nvlink -e' twice: if the counters rise, restart the fabric manager, then replace the board"},
    Rule{AttributeId::kXids, "Xid {} in the kernel log",
         "read the messages ('dmesg | grep Xid'), and look the code up in NVIDIA's list of Xids"},
};

// Faults of programs (13, 31, 43, 45) and a note on a repair of memory (63), by NVIDIA's list of Xids.
constexpr std::array kHarmlessXids = {13, 31, 43, 45, 63};

// "48, 79" of "13, 48, 79".
std::string harmful_xids(std::string_view codes) {
  std::string result;
  while (!codes.empty()) {
    const std::string_view code = codes.substr(0, codes.find(", "));
    codes.remove_prefix(std::min(codes.size(), code.size() + 2));
    int number = 0;
    std::from_chars(code.data(), code.data() + code.size(), number);
    if (std::ranges::find(kHarmlessXids, number) != kHarmlessXids.end()) continue;
    result += fmt::format("{}{}", result.empty() ? "" : ", ", code);
  }
  return result.empty() ? std::string(kNoFault) : result;
}

// Nothing if the value is unknown or shows nothing.
std::optional<std::string> remarkable_value(const AttributeMap& device, AttributeId id) {
  const Attribute* attribute = find(device, id);
  if (attribute == nullptr || !attribute->available()) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(&attribute->value)) return *flag ? std::optional("yes") : std::nullopt;
  if (const auto* text = std::get_if<std::string>(&attribute->value)) {
    return *text == kNoFault ? std::nullopt : std::optional(*text);
  }
  const std::optional<double> number = attribute->number();
  return number && *number > 0 ? std::optional(fmt::format("{:.0f}", *number)) : std::nullopt;
}

// A limit below the default is often intended, so it is no fault, but it explains slow values.
std::string power_text(const AttributeMap& device) {
  constexpr double kRounding = 0.99;
  const Attribute* limit = find(device, AttributeId::kPowerLimit);
  const Attribute* usual = find(device, AttributeId::kPowerLimitDefault);
  if (limit == nullptr || usual == nullptr || !limit->number() || !usual->number()) return {};
  if (*limit->number() >= kRounding * *usual->number()) return {};
  return fmt::format("power limit: {:.0f} W (default: {:.0f} W)", *limit->number(), *usual->number());
}

}  // namespace

std::vector<HealthFinding> judge_health(const AttributeMap& device) {
  std::vector<HealthFinding> findings;
  for (const Rule& rule : kRules) {
    std::optional<std::string> value = remarkable_value(device, rule.attribute);
    if (value && rule.attribute == AttributeId::kXids) value = harmful_xids(*value);
    if (!value || *value == kNoFault) continue;
    findings.push_back({rule.attribute, fmt::format(fmt::runtime(rule.text), *value), rule.next_step});
  }
  return findings;
}

KnownFaults known_faults(const AttributeMap& device) {
  KnownFaults faults;
  for (const Rule& rule : kRules) {
    const Attribute* attribute = find(device, rule.attribute);
    if (attribute != nullptr && attribute->available()) {
      ++faults.known;
    } else {
      faults.unknown.push_back(rule.attribute);
    }
  }
  return faults;
}

std::string health_text(const AttributeMap& device) {
  std::string text = power_text(device);
  for (const AttributeInfo& info : attribute_catalogue()) {
    if (info.quantity != Quantity::kHealth || info.id == AttributeId::kPowerLimitDefault) continue;
    const std::optional<std::string> value = remarkable_value(device, info.id);
    if (value) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", info.title, *value);
  }
  return text;
}

}  // namespace gputopo
