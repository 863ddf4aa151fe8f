// Derives the report of a GPU instance from a report of the whole GPU and a report of the instance.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gputopo/error.h"
#include "gputopo/report.h"
#include "report/words/values.h"

namespace gputopo {
namespace {

constexpr std::string_view kNearBytes = "near_bytes";

// Fractions of the GPU that the instance has. Unset if the instance's report does not say.
struct Shares {
  std::optional<double> sms;
  std::optional<double> compute;  // slices
  std::optional<double> memory;   // slices
};

std::optional<double> slices_of(const Topology& instance, AttributeId id) {
  const std::optional<double> own = report::number_of(instance, id);
  const std::optional<double> all = report::detail_of(find(instance.device, id), "of_gpu");
  if (!own || !all || *all < 1) return std::nullopt;
  return std::min(1.0, *own / *all);
}

std::optional<double> memory_bytes_of(const Topology& topology) {
  const MemoryElement* memory = topology.find_memory(to_string(ElementId::kDevice));
  const Attribute* size = memory == nullptr ? nullptr : find(memory->attributes, AttributeId::kSize);
  return size == nullptr ? std::nullopt : size->number();
}

// Memory is divided in eighths on every NVIDIA GPU with MIG so far. The driver keeps a little of each part.
std::optional<double> memory_eighths(const Topology& full, const Topology& instance) {
  const std::optional<double> all = memory_bytes_of(full);
  const std::optional<double> own = memory_bytes_of(instance);
  if (vendor_of(instance.vendor) != Vendor::kNvidia || !all || !own || *own > *all || *all <= 0) return std::nullopt;
  constexpr double kEighths = 8;
  return std::max(1.0, std::round(kEighths * *own / *all)) / kEighths;
}

Shares shares_of(const Topology& full, const Topology& instance) {
  Shares shares{.compute = slices_of(instance, AttributeId::kInstanceComputeSlices),
                .memory = slices_of(instance, AttributeId::kInstanceMemorySlices)};
  if (!shares.memory) shares.memory = memory_eighths(full, instance);
  const std::optional<double> all = report::number_of(full, AttributeId::kSmCount);
  const std::optional<double> own = report::number_of(instance, AttributeId::kSmCount);
  if (all && own && *all > 0) shares.sms = *own / *all;
  return shares;
}

void require_pair(const Topology& full, const Topology& instance, const Shares& shares) {
  if (find(instance.device, AttributeId::kInstanceProfile) == nullptr) {
    throw UsageError(
        "the report given to --instance does not describe an instance: it has no instance_profile; for a report of "
        "the instance, run gputopo inside the MIG instance or the partition");
  }
  if (find(full.device, AttributeId::kInstanceProfile) != nullptr) {
    throw UsageError(
        "the report to show describes an instance; show the report of the whole GPU, and give the report of the "
        "instance to --instance");
  }
  if (full.vendor != instance.vendor || full.architecture != instance.architecture) {
    throw UsageError(fmt::format("the reports describe different kinds of GPU: {} and {}", full.name, instance.name));
  }
  if (shares.sms.value_or(1) > 1) {
    throw UsageError(
        fmt::format("the instance has more SMs than {}: the reports describe different kinds of GPU", full.name));
  }
}

// How a value of the whole GPU divides among instances.
enum class SharedOut : std::uint8_t {
  kNot,       // not divided: same for each SM, line or way
  kBySms,     // a sum over SMs
  kByDies,    // a sum over compute dies
  kByMemory,  // divides like memory: memory itself and caches in front of it
  kUnknown,   // names SMs, whose numbers differ in an instance
};

SharedOut shared_out(const ElementInfo& element, const AttributeInfo& attribute, bool has_several) {
  if (attribute.quantity == Quantity::kUnitGroups) return SharedOut::kUnknown;
  if (attribute.quantity == Quantity::kRate) return SharedOut::kBySms;
  const bool is_of_gpu = element.scope == Scope::kGpu;
  if (attribute.quantity == Quantity::kBandwidth && !is_of_gpu) return SharedOut::kBySms;
  if (!is_of_gpu) return SharedOut::kNot;
  if (attribute.id == AttributeId::kAmount) return has_several ? SharedOut::kByDies : SharedOut::kNot;
  if (attribute.id == AttributeId::kSize && has_several) return SharedOut::kNot;
  const bool is_sum = attribute.quantity == Quantity::kBandwidth || attribute.id == AttributeId::kSize ||
                      attribute.id == AttributeId::kSlices || attribute.id == AttributeId::kPartitions ||
                      attribute.id == AttributeId::kAtomicThroughput;
  if (!is_sum) return SharedOut::kNot;
  return has_several && element.kind == ElementKind::kDataCache ? SharedOut::kByDies : SharedOut::kByMemory;
}

Attribute taken(Attribute attribute) {
  attribute.samples.clear();  // the whole GPU's report keeps the evidence
  attribute.add_condition("measured_on", std::string("whole GPU"));
  return attribute;
}

// Counts are rounded up: an instance has every slice or partition of which it has a part.
Attribute scaled(const Attribute& full, double share) {
  const auto* count = std::get_if<std::int64_t>(&full.value);
  const double value = *full.number() * share;
  Attribute attribute = inferred_value(
      count != nullptr ? Value(static_cast<std::int64_t>(std::ceil(value))) : Value(value), full.unit, "share_of_gpu");
  attribute.conditions = full.conditions;
  if (full.low) attribute.low = *full.low * share;
  if (full.high) attribute.high = *full.high * share;
  attribute.add_detail("of_gpu", full.value);
  return attribute;
}

Attribute attribute_of(const Attribute& full, SharedOut kind, const Shares& shares) {
  if (!full.available() || kind == SharedOut::kNot) return taken(full);
  if (kind == SharedOut::kUnknown) {
    return unavailable(
        Reason::kNotSupported,
        "the value lists SM numbers, which differ inside an instance: measure the value inside the instance");
  }
  const std::optional<double> share = kind == SharedOut::kBySms    ? shares.sms
                                      : kind == SharedOut::kByDies ? shares.compute
                                                                   : shares.memory;
  if (!share || !full.number()) {
    return unavailable(
        Reason::kNotSupported,
        "the reports do not give the instance's share of this value: measure the value inside the instance");
  }
  return scaled(full, *share);
}

// Bytes near one SM: in a cache with several partitions, an instance may have as much near it as the whole GPU.
void add_near_bytes(const AttributeMap& full, AttributeMap& merged) {
  const Attribute* partitions = find(merged, AttributeId::kPartitions);
  const Attribute* size = find(merged, AttributeId::kSize);
  const std::optional<double> near = report::detail_of(find(full, AttributeId::kPartitions), kNearBytes);
  if (partitions == nullptr || size == nullptr || !near || !size->number()) return;
  if (!partitions->available() || report::detail_of(partitions, kNearBytes)) return;
  get_or_add(merged, AttributeId::kPartitions).add_detail(std::string(kNearBytes), std::min(*near, *size->number()));
}

// Takes values from the instance's report, and derives the rest from the whole GPU's.
AttributeMap attributes_of(const MemoryElement& full, const MemoryElement* instance, const Shares& shares) {
  const ElementInfo* element = find_element(full.id);
  const Attribute* amount = find(full.attributes, AttributeId::kAmount);
  const bool has_several = amount != nullptr && amount->number().value_or(1) > 1;
  AttributeMap merged;
  for (const auto& [name, attribute] : full.attributes) {
    const Attribute* own = instance == nullptr ? nullptr : find(instance->attributes, name);
    const AttributeInfo* info = find_attribute(name);
    if (own != nullptr && own->available()) {
      merged.emplace_back(name, *own);
    } else {
      const SharedOut kind =
          element == nullptr || info == nullptr ? SharedOut::kNot : shared_out(*element, *info, has_several);
      merged.emplace_back(name, attribute_of(attribute, kind, shares));
    }
  }
  add_near_bytes(full.attributes, merged);
  return merged;
}

}  // namespace

Topology instance_of(const Topology& full, const Topology& instance) {
  const Shares shares = shares_of(full, instance);
  require_pair(full, instance, shares);
  Topology view = instance;
  view.memory.clear();
  for (const MemoryElement& element : full.memory) {
    view.memory.push_back(
        {element.id, element.title, attributes_of(element, instance.find_memory(element.id), shares)});
  }
  for (const Instruction& instruction : full.instructions) {
    if (instance.find_instruction(instruction.id) != nullptr) continue;
    Instruction& added = view.instructions.emplace_back(instruction);
    for (auto& [name, attribute] : added.attributes) attribute = taken(std::move(attribute));
  }
  if (const Attribute* pipes = find(full.compute, AttributeId::kPipes);
      pipes != nullptr && find(view.compute, AttributeId::kPipes) == nullptr) {
    get_or_add(view.compute, AttributeId::kPipes) = taken(*pipes);
  }
  view.complete = full.complete && instance.complete;
  view.warnings.push_back(
      fmt::format("values that were not measured in the instance are from a report of the whole GPU ({}, {}): sums "
                  "over the GPU are scaled to the instance's share (inferred), and other values are unchanged",
                  full.name, full.timestamp));
  return view;
}

}  // namespace gputopo
