#include "fleet/value_kind.h"

#include <algorithm>
#include <array>

namespace gputopo::fleet {
namespace {

constexpr std::uint32_t bit(Aspect aspect) { return 1U << static_cast<unsigned>(aspect); }

std::uint32_t aspects_of(const ElementInfo& element) {
  switch (element.kind) {
    case ElementKind::kMemory:
      return bit(Aspect::kMemory);
    case ElementKind::kTlb:
      return bit(Aspect::kTranslation);
    case ElementKind::kCodeCache:
    case ElementKind::kNearCodeCache:
      return bit(Aspect::kCode);
    case ElementKind::kDataCache:
      return element.scope == Scope::kGpu ? bit(Aspect::kL2) : bit(Aspect::kSmCaches);
    case ElementKind::kOperandCache:
    case ElementKind::kScratchpad:
    case ElementKind::kClusterPath:
    case ElementKind::kCopyPath:
      return bit(Aspect::kSmCaches);
    case ElementKind::kRegisters:
    case ElementKind::kClocks:
    case ElementKind::kControl:
    case ElementKind::kPeaks:
      break;
  }
  return bit(Aspect::kArithmetic);
}

bool is_rate(Quantity quantity) {
  return quantity == Quantity::kBandwidth || quantity == Quantity::kRate || quantity == Quantity::kFrequency;
}

Better better_of_unit(std::string_view unit) {
  if (unit.ends_with("/s") || unit.ends_with("/clk")) return Better::kHigher;
  for (const std::string_view time : {"cycles", "ns", "us", "ms", "s"}) {
    if (unit == time) return Better::kLower;
  }
  return Better::kNeither;
}

ValueKind kind_of_link(std::string_view rest, std::string_view unit) {
  const std::size_t dot = rest.rfind('.');
  ValueKind kind{.better = better_of_unit(unit), .aspects = bit(Aspect::kLinks)};
  kind.link = rest.substr(0, dot);
  kind.attribute = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
  kind.is_verdict = kind.attribute == kVerdictAttribute;
  // The node judges fractions and numbers of lanes by what its hardware should have. The size of copies that reach half
  // the bandwidth is a product of rate and latency, which has no better direction.
  constexpr std::array<std::string_view, 4> kNotCompared = {"capacity_fraction", kLanes, kCapacity,
                                                            "half_bandwidth_copy_size"};
  kind.is_compared = !kind.is_verdict && std::ranges::find(kNotCompared, kind.attribute) == kNotCompared.end();
  return kind;
}

// The PCIe generation falls to 1 on idle links. Counters of faults are judged by themselves.
bool is_compared(const AttributeInfo& info) {
  return info.id != AttributeId::kHostCpu && info.id != AttributeId::kOs && info.id != AttributeId::kDriverVersion &&
         info.id != AttributeId::kPcieGeneration && info.quantity != Quantity::kHealth;
}

}  // namespace

std::string_view name_of(Aspect aspect) {
  switch (aspect) {
    case Aspect::kMemory:
      return "device memory";
    case Aspect::kL2:
      return "L2";
    case Aspect::kSmCaches:
      return "SM caches";
    case Aspect::kArithmetic:
      return "arithmetic";
    case Aspect::kTranslation:
      return "address translation";
    case Aspect::kCode:
      return "instruction caches";
    case Aspect::kOnChipRates:
      return "on-chip rates";
    case Aspect::kLinks:
      return "links";
    case Aspect::kAll:
      break;
  }
  return "the whole GPU";
}

ValueKind kind_of_value(std::string_view path, std::string_view unit) {
  constexpr std::string_view kLink = "link.";
  if (path.starts_with(kLink)) return kind_of_link(path.substr(kLink.size()), unit);
  const std::size_t dot = path.rfind('.');
  std::string_view group = path.substr(0, dot == std::string_view::npos ? 0 : dot);
  ValueKind kind;
  kind.attribute = dot == std::string_view::npos ? path : path.substr(dot + 1);
  kind.is_verdict = kind.attribute == kVerdictAttribute;
  if (kind.is_verdict) kind.is_compared = false;
  const AttributeInfo* info = find_attribute(kind.attribute);
  kind.better = info == nullptr ? better_of_unit(unit) : info->better;
  if (info != nullptr) {
    kind.is_structure = info->quantity == Quantity::kCount || info->quantity == Quantity::kCapacity;
    kind.is_compared = is_compared(*info);
  }
  constexpr std::string_view kMemory = "memory.";
  const bool is_of_device = group == "device";
  if (group.starts_with(kMemory)) group.remove_prefix(kMemory.size());
  const ElementInfo* element = is_of_device ? nullptr : find_element(group);
  kind.is_of_chip = group == "compute" || is_of_device || (element != nullptr && element->scope == Scope::kGpu);
  kind.aspects = bit(Aspect::kAll);
  if (element != nullptr) kind.aspects |= aspects_of(*element);
  if (group.starts_with(kInstructions)) kind.aspects |= bit(Aspect::kArithmetic);
  const bool is_off_chip = element != nullptr && element->medium == Medium::kDram;
  if (info != nullptr && is_rate(info->quantity) && !is_off_chip) kind.aspects |= bit(Aspect::kOnChipRates);
  return kind;
}

}  // namespace gputopo::fleet
