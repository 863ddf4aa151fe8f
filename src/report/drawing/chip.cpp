#include "report/drawing/chip.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "gputopo/catalogue.h"
#include "report/words/hierarchy.h"
#include "report/words/one_cache.h"

namespace gputopo::report {
namespace {

// "2 SMs": the number of SMs that use one instance, measured for all pairs or from a single SM.
std::string scope_of(const MemoryElement& element, const std::string& unit_name) {
  const Attribute* between = find(element.attributes, AttributeId::kSharedBetween);
  const auto* shared = between == nullptr ? nullptr : std::get_if<UnitGroups>(&between->value);
  if (shared != nullptr && !shared->groups.empty()) {
    const auto [least, most] = std::ranges::minmax(shared->groups, {}, &Units::size);
    const std::string range = least.size() == most.size() ? "" : fmt::format("{} to ", least.size());
    if (!least.empty()) return fmt::format("{}{} {}{}", range, most.size(), unit_name, most.size() == 1 ? "" : "s");
  }
  const Attribute* scope = find(element.attributes, AttributeId::kScope);
  const auto* text = scope == nullptr ? nullptr : std::get_if<std::string>(&scope->value);
  return text == nullptr ? "" : *text;
}

// The measured scope decides if known, then the amount ("per GPU"), otherwise the kind of element.
bool is_chip_wide(const MemoryElement& element) {
  const Attribute* scope = find(element.attributes, AttributeId::kScope);
  const auto* who = scope == nullptr ? nullptr : std::get_if<std::string>(&scope->value);
  if (who != nullptr && *who == "GPU") return true;
  const Attribute* amount = find(element.attributes, AttributeId::kAmount);
  if (amount != nullptr && amount->unit.rfind("per ", 0) == 0) {
    return amount->unit != "per SM" && amount->unit != "per CU";
  }
  const ElementInfo* info = find_element(element.id);
  return info != nullptr && info->scope == Scope::kGpu;
}

// "2 SMs" if several units, but not the whole chip, share one; otherwise empty.
std::string sharers_of(const MemoryElement& element, const std::string& unit_name) {
  const std::string scope = is_chip_wide(element) ? "" : scope_of(element, unit_name);
  return scope == "1 " + unit_name || scope == "SM" || scope == "CU" ? "" : scope;
}

// Returns the last number of "16 to 18 SMs", or 1 if there is none.
std::size_t most_sharers(const std::string& shared_by) {
  std::size_t most = 1;
  std::size_t number = 0;
  bool is_within = false;
  for (const char c : shared_by + " ") {
    constexpr std::size_t kMost = 100000;
    if (c >= '0' && c <= '9') {
      number = std::min(10 * (is_within ? number : 0) + static_cast<std::size_t>(c - '0'), kMost);
      is_within = true;
    } else if (std::exchange(is_within, false)) {
      most = std::max<std::size_t>(number, 1);
    }
  }
  return most;
}

std::optional<double> number_of(const MemoryElement& element, AttributeId attribute) {
  const Attribute* found = find(element.attributes, attribute);
  return found == nullptr ? std::nullopt : found->number();
}

// Finds the memory that already represents one of these elements.
PhysicalMemory* find_shared(std::vector<PhysicalMemory>& memories, const std::vector<std::string>& partners) {
  for (PhysicalMemory& memory : memories) {
    for (const MemoryElement* element : memory.elements) {
      if (std::find(partners.begin(), partners.end(), element->id) != partners.end()) return &memory;
    }
  }
  return nullptr;
}

std::optional<int> units_of(const Topology& topology) {
  const Attribute* count = find(topology.compute, AttributeId::kSmCount);
  if (count == nullptr || !count->number() || *count->number() < 1) return std::nullopt;
  constexpr double kMaxUnits = 1e5;
  return static_cast<int>(std::min(*count->number(), kMaxUnits));
}

// "First-level TLB per 6 SMs: 2048 entries of 32 MiB (64 GiB), a miss adds 105 cycles"
std::string translation_note(const MemoryElement& tlb, const std::string& unit_name) {
  const auto text = [&](AttributeId id, std::string_view pattern) {
    const Attribute* attribute = find(tlb.attributes, id);
    if (attribute == nullptr || !attribute->available()) return std::string();
    return fmt::format(fmt::runtime(pattern), value_text(*attribute));
  };
  const std::string sharers = sharers_of(tlb, unit_name);
  return tlb.title + (sharers.empty() ? "" : " per " + sharers) + ":" + text(AttributeId::kEntries, " {} entries") +
         text(AttributeId::kEntryBytes, " of {}") + text(AttributeId::kReach, " ({})") +
         text(AttributeId::kMissPenalty, ", a miss adds {}");
}

ElementKind kind_of(const MemoryElement& element) {
  const ElementInfo* info = find_element(element.id);
  return info == nullptr ? ElementKind::kDataCache : info->kind;
}

// True if the element gets a box: it exists, holds data, and something is known about it.
bool is_drawn(const MemoryElement& element) {
  const Attribute* size = find(element.attributes, AttributeId::kSize);
  const bool is_absent = size != nullptr && size->reason == Reason::kNotPresent;
  return holds_data(element) && !is_absent && kind_of(element) != ElementKind::kCopyPath;
}

// Memory in a unit shows its rate per clock, and all units' rate as a note. Memory of the chip shows the reverse.
void add_rates(const Topology& topology, bool is_of_chip, PhysicalMemory& memory) {
  for (const MemoryElement* element : memory.elements) {
    const Attribute* bandwidth = find(element->attributes, AttributeId::kReadBandwidth);
    if (bandwidth == nullptr || !bandwidth->available()) continue;
    const std::string of_chip = value_text(*bandwidth);
    const std::string of_unit = rate_of_unit_text(topology, *bandwidth);
    if (is_of_chip) {
      memory.rate = of_chip + (of_unit.empty() ? "" : fmt::format(" ({})", of_unit));
    } else {
      const std::string of_all = fmt::format("{} across all {}s", of_chip, unit_name(topology.vendor));
      memory.rate = of_unit.empty() ? of_all : of_unit;
      if (!of_unit.empty()) memory.notes.push_back(of_all);
    }
    return;
  }
}

// Mean latency of each unit, from the samples that show which units are near which L2 part.
std::vector<UnitLatency> heat_of(const Topology& topology) {
  std::vector<UnitLatency> heat;
  const Attribute* near = topology.find_attribute(ElementId::kL2, AttributeId::kNearSms);
  if (near == nullptr) return heat;
  for (const SampleTable& table : near->samples) {
    const auto column = [&](std::string_view name) {
      const auto found = std::ranges::find(table.columns, name, &Column::name);
      return found == table.columns.end() ? nullptr
                                          : &table.data[static_cast<std::size_t>(found - table.columns.begin())];
    };
    const std::vector<double>* units = column("sm");
    const std::vector<double>* cycles = column("latency_cycles");
    if (units == nullptr || cycles == nullptr) continue;
    constexpr double kMaxUnits = 1e5;
    for (std::size_t r = 0; r < table.row_count(); ++r) {
      const double unit = units->at(r);
      if (unit >= 0 && unit <= kMaxUnits && std::isfinite(cycles->at(r))) {
        heat.push_back({static_cast<std::uint32_t>(unit), cycles->at(r)});
      }
    }
    break;
  }
  return heat;
}

PhysicalMemory physical_memory(const MemoryElement& element, const std::string& unit_name) {
  const bool is_wide = is_chip_wide(element);
  PhysicalMemory memory{.elements = {&element}, .bytes = number_of(element, AttributeId::kSize)};
  memory.is_device_memory = kind_of(element) == ElementKind::kMemory;
  std::optional<double> instances = number_of(element, is_wide ? AttributeId::kPartitions : AttributeId::kAmount);
  memory.is_parted = is_wide && instances;
  if (!instances && is_wide) instances = number_of(element, AttributeId::kAmount);
  memory.shared_by = sharers_of(element, unit_name);
  memory.sharers = is_wide ? 0 : most_sharers(memory.shared_by);
  constexpr double kMaxDrawn = 64;
  if (instances && *instances >= 1) memory.instances = static_cast<int>(std::min(*instances, kMaxDrawn));
  return memory;
}

// Adds another element that is the same memory.
void add_name(const MemoryElement& element, const std::string& unit_name, PhysicalMemory& memory) {
  memory.elements.push_back(&element);
  if (memory.shared_by.empty()) {
    memory.shared_by = sharers_of(element, unit_name);
    if (memory.sharers != 0) memory.sharers = most_sharers(memory.shared_by);
  }
  if (!memory.bytes) memory.bytes = number_of(element, AttributeId::kSize);
}

bool has_one_in_each_die(const Chip& chip, const PhysicalMemory& memory) {
  const bool has_dies = !chip.drawn.empty() && chip.drawn.front().shared == kOnOneDie;
  return has_dies && !memory.is_parted && !memory.is_device_memory &&
         static_cast<std::size_t>(memory.instances) == chip.drawn.front().groups.size();
}

}  // namespace

std::string PhysicalMemory::title() const {
  std::vector<std::string> titles;
  for (const MemoryElement* element : elements) titles.push_back(element->title);
  return fmt::format("{}", fmt::join(titles, " = "));
}

std::string PhysicalMemory::figures() const {
  std::vector<std::string> texts;
  for (const AttributeId id : {AttributeId::kSize, AttributeId::kLatency}) {
    for (const MemoryElement* element : elements) {
      const Attribute* attribute = find(element->attributes, id);
      if (attribute == nullptr || !attribute->available()) continue;
      texts.push_back(id == AttributeId::kLatency ? latency_text(*attribute) : value_text(*attribute));
      break;
    }
  }
  if (!rate.empty()) texts.push_back(rate);
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::optional<std::size_t> level_of(const Chip& chip, const PhysicalMemory& memory) {
  for (std::size_t i = 0; i < chip.drawn.size(); ++i) {
    if (memory.is_of_die) return 0;
    std::size_t most = 0;
    for (const Units& group : chip.drawn[i].groups) most = std::max(most, group.size());
    if (memory.sharers > 1 && most == memory.sharers) return i;
  }
  return std::nullopt;
}

Chip chip_of(const Topology& topology) {
  Chip chip;
  chip.unit_name = unit_name(topology.vendor);
  chip.levels = unit_levels(topology);
  chip.drawn = drawn_levels(topology);
  if (!chip.drawn.empty()) chip.parts = near_parts(topology);
  chip.heat = heat_of(topology);
  chip.units = units_of(topology);
  std::vector<std::string> translations;
  for (const MemoryElement* element : elements_with_values(topology)) {
    const Attribute* reach = find(element->attributes, AttributeId::kReach);
    if (reach != nullptr && reach->available()) translations.push_back(translation_note(*element, chip.unit_name));
    if (!is_drawn(*element)) continue;
    std::vector<PhysicalMemory>& memories = is_chip_wide(*element) ? chip.on_chip : chip.in_unit;
    if (PhysicalMemory* shared = find_shared(memories, partners_of(topology, *element))) {
      add_name(*element, chip.unit_name, *shared);
      continue;
    }
    memories.push_back(physical_memory(*element, chip.unit_name));
  }
  // Some chip-wide caches follow the memory in the report. Not std::ranges: clang 14, which clang-tidy uses, cannot
  // parse GCC 12's return type.
  std::stable_partition(chip.on_chip.begin(), chip.on_chip.end(),
                        [](const PhysicalMemory& memory) { return !memory.is_device_memory; });
  for (PhysicalMemory& memory : chip.in_unit) add_rates(topology, false, memory);
  for (PhysicalMemory& memory : chip.on_chip) {
    add_rates(topology, true, memory);
    if (memory.is_device_memory) memory.notes = translations;
    memory.is_of_die = has_one_in_each_die(chip, memory);
  }
  return chip;
}

}  // namespace gputopo::report
