#include "report/chip.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "report/hierarchy.h"

namespace gputopo::report {
namespace {

// Elements outside of the SMs. The amount says so where it is known ("per GPU"); these are so by what they are.
constexpr std::array<std::string_view, 7> kChipWide = {"l2", "l3", "mall", "infinity_cache", "hbm", "device", "host"};

// Has a latency and a bandwidth, and holds nothing.
constexpr std::string_view kCopyUnit = "bulk_copy";

// "2 SMs": by how many each instance is used, by measurement of all pairs or from the one SM that was asked.
std::string scope_of(const MemoryElement& element, const std::string& unit_name) {
  const Attribute* between = find(element.attributes, "shared_between");
  if (between != nullptr && between->available()) {
    std::set<std::size_t> sizes;
    if (const auto* groups = std::get_if<std::vector<std::string>>(&between->value)) {
      for (const std::string& group : *groups) sizes.insert(parse_unit_group(group).size());
    }
    if (!sizes.empty() && *sizes.begin() > 0) {
      const std::size_t most = *sizes.rbegin();
      const std::string range = sizes.size() == 1 ? "" : fmt::format("{} to ", *sizes.begin());
      return fmt::format("{}{} {}{}", range, most, unit_name, most == 1 ? "" : "s");
    }
  }
  const Attribute* scope = find(element.attributes, "scope");
  const auto* text = scope == nullptr ? nullptr : std::get_if<std::string>(&scope->value);
  return text == nullptr ? "" : *text;
}

bool is_chip_wide(const MemoryElement& element) {
  const Attribute* scope = find(element.attributes, "scope");
  const auto* who = scope == nullptr ? nullptr : std::get_if<std::string>(&scope->value);
  if (who != nullptr && *who == "GPU") return true;
  const Attribute* amount = find(element.attributes, "amount");
  if (amount != nullptr && amount->unit.rfind("per ", 0) == 0) {
    return amount->unit != "per SM" && amount->unit != "per CU";
  }
  return std::find(kChipWide.begin(), kChipWide.end(), element.id) != kChipWide.end();
}

// "2 SMs", where several units, and not all of the chip, have one together; else empty.
std::string sharers_of(const MemoryElement& element, const std::string& unit_name) {
  const std::string scope = is_chip_wide(element) ? "" : scope_of(element, unit_name);
  return scope == "1 " + unit_name || scope == "SM" || scope == "CU" ? "" : scope;
}

std::optional<double> number_of(const MemoryElement& element, std::string_view attribute) {
  const Attribute* found = find(element.attributes, attribute);
  return found == nullptr ? std::nullopt : found->number();
}

// Whether the intervals of their sizes meet.
bool are_of_one_size(const MemoryElement& a, const MemoryElement& b) {
  const Attribute* one = find(a.attributes, "size");
  const Attribute* other = find(b.attributes, "size");
  return one != nullptr && other != nullptr && one->low && one->high && other->low && other->high &&
         *one->low <= *other->high && *other->low <= *one->high;
}

// Of a cache of code that holds constants, too, the measurement does not tell which of the levels of constants it is:
// the one of its size.
constexpr std::string_view kConstants = "constants";

std::vector<std::string> partners_of(const Topology& topology, const MemoryElement& element) {
  const Attribute* shared = find(element.attributes, "shared_with");
  const auto* names = shared == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&shared->value);
  if (names == nullptr) return {};
  std::vector<std::string> partners = *names;
  if (std::find(partners.begin(), partners.end(), kConstants) != partners.end()) {
    for (const MemoryElement& other : topology.memory) {
      if (other.id.starts_with("constant_") && are_of_one_size(element, other)) partners.push_back(other.id);
    }
  }
  return partners;
}

// The memory that one of these elements is already drawn as.
PhysicalMemory* find_shared(std::vector<PhysicalMemory>& memories, const std::vector<std::string>& partners) {
  for (PhysicalMemory& memory : memories) {
    for (const MemoryElement* element : memory.elements) {
      if (std::find(partners.begin(), partners.end(), element->id) != partners.end()) return &memory;
    }
  }
  return nullptr;
}

std::optional<int> count_of(const Topology& topology, std::initializer_list<std::string_view> ids) {
  for (const std::string_view id : ids) {
    for (const AttributeMap* map : {&topology.compute, &topology.device}) {
      const Attribute* attribute = find(*map, id);
      if (attribute == nullptr || !attribute->number() || *attribute->number() < 1) continue;
      constexpr double kMost = 1e5;
      return static_cast<int>(std::min(*attribute->number(), kMost));
    }
  }
  return std::nullopt;
}

// "First-level TLB per 6 SMs: 2048 entries of 32 MiB (64 GiB), a miss adds 105 cycles"
std::string translation_note(const MemoryElement& tlb, const std::string& unit_name) {
  const auto text = [&](std::string_view id, std::string_view pattern) {
    const Attribute* attribute = find(tlb.attributes, id);
    if (attribute == nullptr || !attribute->available()) return std::string();
    return fmt::format(fmt::runtime(pattern), value_text(*attribute));
  };
  const std::string sharers = sharers_of(tlb, unit_name);
  return tlb.title + (sharers.empty() ? "" : " per " + sharers) + ":" + text("entries", " {} entries") +
         text("entry_bytes", " of {}") + text("reach", " ({})") + text("miss_penalty", ", a miss adds {}");
}

}  // namespace

std::string PhysicalMemory::title() const {
  std::vector<std::string> titles;
  for (const MemoryElement* element : elements) titles.push_back(element->title);
  return fmt::format("{}", fmt::join(titles, " = "));
}

std::string PhysicalMemory::figures() const {
  std::vector<std::string> texts;
  for (const char* id : {"size", "latency", "read_bandwidth"}) {
    for (const MemoryElement* element : elements) {
      const Attribute* attribute = find(element->attributes, id);
      if (attribute == nullptr || !attribute->available()) continue;
      texts.push_back(value_text(*attribute));
      break;
    }
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

Chip chip_of(const Topology& topology) {
  Chip chip;
  chip.unit_name = unit_name(topology.vendor);
  if (topology.vendor == "AMD") chip.group_name = "shader engine";
  chip.levels = unit_levels(topology);
  chip.units = count_of(topology, {"sm_count", "cu_count"});
  chip.groups = count_of(topology, {"gpc_count", "shader_engine_count"});
  std::vector<std::string> translations;
  for (const MemoryElement* element : speaking_elements(topology)) {
    const Attribute* reach = find(element->attributes, "reach");
    if (reach != nullptr && reach->available()) translations.push_back(translation_note(*element, chip.unit_name));
    if (!holds_data(*element) || element->id == kCopyUnit) continue;
    const Attribute* size = find(element->attributes, "size");
    if (size != nullptr && size->reason == Reason::kNotPresent) continue;
    std::vector<PhysicalMemory>& memories = is_chip_wide(*element) ? chip.on_chip : chip.in_unit;
    if (PhysicalMemory* shared = find_shared(memories, partners_of(topology, *element))) {
      shared->elements.push_back(element);
      if (shared->shared_by.empty()) shared->shared_by = sharers_of(*element, chip.unit_name);
      if (!shared->bytes) shared->bytes = number_of(*element, "size");
      continue;
    }
    PhysicalMemory memory{.elements = {element}, .bytes = number_of(*element, "size")};
    const bool is_wide = is_chip_wide(*element);
    std::optional<double> instances = number_of(*element, is_wide ? "partitions" : "amount");
    memory.is_parted = is_wide && instances;
    if (!instances && is_wide) instances = number_of(*element, "amount");
    memory.shared_by = sharers_of(*element, chip.unit_name);
    constexpr double kMostDrawn = 64;
    if (instances && *instances >= 1) memory.instances = static_cast<int>(std::min(*instances, kMostDrawn));
    memories.push_back(std::move(memory));
  }
  // Some caches of the whole chip stand behind the memory in the report.
  std::stable_partition(chip.on_chip.begin(), chip.on_chip.end(), [](const PhysicalMemory& memory) {
    return memory.elements.front()->id != "device" && memory.elements.front()->id != "host";
  });
  for (PhysicalMemory& memory : chip.on_chip) {
    if (memory.elements.front()->id == "device") memory.notes = translations;
  }
  return chip;
}

}  // namespace gputopo::report
