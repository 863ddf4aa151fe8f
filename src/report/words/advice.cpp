#include "report/words/advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "gputopo/catalogue.h"
#include "report/words/hierarchy.h"
#include "report/words/units.h"
#include "report/words/value_text.h"
#include "report/words/values.h"

namespace gputopo::report {
namespace {

std::string bytes(double number) { return human_bytes(std::floor(number)); }

// Reads a report's values and records which ones the current advice used.
class Grounds {
 public:
  explicit Grounds(const Topology& topology) : topology_(topology) {}

  const Attribute* attribute(ElementId element, AttributeId id) {
    const std::string name(to_string(element));
    const MemoryElement* found = topology_.find_memory(name);
    return found == nullptr ? nullptr : used(name, id, find(found->attributes, id));
  }
  std::optional<double> number(ElementId element, AttributeId id) {
    const Attribute* found = attribute(element, id);
    return found == nullptr ? std::nullopt : found->number();
  }
  std::optional<double> compute(AttributeId id) {
    const Attribute* found = used("compute", id, find(topology_.compute, id));
    return found == nullptr ? std::nullopt : found->number();
  }
  std::vector<Advice::Ground> take() { return std::exchange(used_, {}); }

 private:
  const Attribute* used(const std::string& group, AttributeId id, const Attribute* attribute) {
    if (attribute == nullptr || !attribute->available()) return nullptr;
    const std::string name(to_string(id));
    const bool is_known = std::ranges::any_of(
        used_, [&](const Advice::Ground& ground) { return ground.group == group && ground.attribute == name; });
    if (!is_known) used_.push_back({group, name});
    return attribute;
  }

  const Topology& topology_;
  std::vector<Advice::Ground> used_;
};

// Little's law: a memory stays busy with bandwidth times latency bytes in flight.
std::string bytes_in_flight(const Topology& topology, Grounds& grounds, ElementId element) {
  const Attribute* bandwidth = grounds.attribute(element, AttributeId::kReadBandwidth);
  const std::optional<double> latency = grounds.number(element, AttributeId::kLatency);
  const std::optional<double> rate = bandwidth ? bytes_per_clock_and_unit(topology, *bandwidth) : std::nullopt;
  if (!rate || !latency || !(*rate > 0) || !(*latency > 0)) return "";
  const std::string unit = unit_name(topology.vendor);
  const double in_flight = *rate * *latency;
  std::string text =
      fmt::format("Keep {} in flight in each {} to saturate {} ({} B/clk/{} for {} cycles)", bytes(in_flight), unit,
                  info_of(element).title, significant(*rate, 4), unit, significant(*latency, 4));
  if (const std::optional<double> threads = grounds.compute(AttributeId::kMaxThreadsPerSm); threads && *threads > 0) {
    text += fmt::format(": {} B per thread with {} threads", significant(std::ceil(in_flight / *threads), 6), *threads);
  }
  const std::optional<double> knee =
      detail_of(grounds.attribute(element, AttributeId::kLoadedLatency), "knee_bytes_in_flight");
  return text + (knee ? fmt::format("; the loaded latency starts to rise at {}", bytes(*knee)) : "") + ".";
}

// "227 KiB for 1, 113.5 KiB for 2": shares of a resource that several blocks divide.
template <typename OfEach>
std::string for_blocks(OfEach of_each) {
  std::vector<std::string> texts;
  for (const int blocks : {1, 2, 3, 4, 8}) texts.push_back(fmt::format("{} for {}", bytes(of_each(blocks)), blocks));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string shared_tiles(const Topology& topology, Grounds& grounds) {
  const std::optional<double> size = grounds.compute(AttributeId::kSharedMemoryPerSm);
  if (!size || !(*size > 0)) return "";
  const double reserved = grounds.compute(AttributeId::kSharedMemoryReservedPerBlock).value_or(0);
  const std::optional<double> opt_in = grounds.compute(AttributeId::kSharedMemoryPerBlockOptIn);
  const double most = opt_in ? *opt_in : grounds.compute(AttributeId::kSharedMemoryPerBlock).value_or(*size);
  constexpr double kUnit = 128;  // no GPU allocates in larger steps, apart from the reserved bytes
  const double unit = grounds.number(ElementId::kRegisters, AttributeId::kSharedAllocationUnit).value_or(kUnit);
  const auto of_each = [&](int blocks) {
    return std::max(0.0, std::min(std::floor(*size / blocks / unit) * unit - reserved, most));
  };
  return fmt::format("The largest tile per block, by the number of blocks on each {}: {}.", unit_name(topology.vendor),
                     for_blocks(of_each));
}

std::string l2_tiles(const Topology& topology, Grounds& grounds) {
  const std::optional<double> size = grounds.number(ElementId::kL2, AttributeId::kSize);
  const std::optional<double> units = grounds.compute(AttributeId::kSmCount);
  const std::optional<double> dies = grounds.compute(AttributeId::kXcdCount);
  if (!size || !units || !(*size > 0) || !(*units > 0)) return "";
  const double sharers = *units / std::max(1.0, dies.value_or(1));  // each AMD die has its own L2
  std::string text =
      fmt::format("The share of L2 per block, by the number of blocks on each {}: {}.", unit_name(topology.vendor),
                  for_blocks([&](int blocks) { return *size / sharers / blocks; }));
  const std::optional<double> near =
      detail_of(grounds.attribute(ElementId::kL2, AttributeId::kPartitions), "near_bytes");
  const Attribute* latency = near ? grounds.attribute(ElementId::kL2, AttributeId::kLatency) : nullptr;
  if (latency != nullptr) {
    text += fmt::format(" If all SMs read the same data, up to {} of it stays near every SM; the rest is far ({}).",
                        bytes(*near), latency_text(*latency));
  }
  return text;
}

std::string carve_out(const Topology& topology, Grounds& grounds) {
  const Attribute* size = grounds.attribute(first_level(topology), AttributeId::kSize);
  const std::vector<double> carved = numbers_of(size, "carve_outs_bytes");
  const std::vector<double> left = numbers_of(size, "size_by_carve_out_bytes");
  if (carved.empty() || carved.size() != left.size()) return "";
  const std::size_t middle = carved.size() / 2;
  return fmt::format(
      "L1 holds {} with a shared-memory carve-out of {}, {} with {}, {} with {}: request no more shared memory than "
      "the blocks on an SM use together.",
      bytes(left.front()), bytes(carved.front()), bytes(left[middle]), bytes(carved[middle]), bytes(left.back()),
      bytes(carved.back()));
}

std::string strides(const Topology& topology, Grounds& grounds) {
  const std::optional<double> fetched = grounds.number(first_level(topology), AttributeId::kFetchGranularity);
  const std::optional<double> line = grounds.number(first_level(topology), AttributeId::kLineSize);
  if (!fetched || !(*fetched > 0)) return "";
  constexpr double kWord = 4;
  std::string text =
      fmt::format("An L1 miss fetches {}: words of {} B at a stride of {} or more use {}% of the fetched bytes.",
                  bytes(*fetched), kWord, bytes(*fetched), significant(100 * kWord / *fetched, 3));
  if (line && *line > 0) text += fmt::format(" Rows that start at multiples of {} share no line.", bytes(*line));
  return text;
}

std::string banks(const Topology& topology, Grounds& grounds) {
  const ElementId memory = scratchpad(topology);
  const std::optional<double> banks = grounds.number(memory, AttributeId::kBanks);
  const std::optional<double> width = grounds.number(memory, AttributeId::kBankWidth);
  const Attribute* cost = grounds.attribute(memory, AttributeId::kConflictCost);
  if (!banks || !width || cost == nullptr || !cost->number() || !(*banks > 0) || !(*width > 0)) return "";
  std::string text = fmt::format(
      "At a stride of {}, all lanes access the same bank (of {}), and each lane after the first costs {}: pad such "
      "rows by {}.",
      bytes(*banks * *width), significant(*banks, 6), value_text(*cost), bytes(*width));
  const std::optional<double> free = detail_of(cost, "conflict_free_cycles");
  const std::optional<double> worst = detail_of(cost, "worst_cycles");
  if (free && worst) {
    text += fmt::format(" A load takes {} cycles without conflicts, and {} in the worst case.", significant(*free, 4),
                        significant(*worst, 4));
  }
  return text;
}

std::string pages(Grounds& grounds) {
  std::string text;
  for (const ElementId tlb : {ElementId::kTlbL1, ElementId::kTlbL2, ElementId::kTlbL3}) {
    const std::optional<double> reach = grounds.number(tlb, AttributeId::kReach);
    if (!reach) break;
    text += fmt::format("{}{}", text.empty() ? "Random accesses over more than " : "; accesses over more than ",
                        bytes(*reach));
    const Attribute* penalty = grounds.attribute(tlb, AttributeId::kMissPenalty);
    text += penalty == nullptr || !penalty->number() ? std::string(" miss one more TLB level")
                                                     : fmt::format(" take {} longer", value_text(*penalty));
  }
  if (text.empty()) return "";
  if (const Attribute* entry = grounds.attribute(ElementId::kTlbL1, AttributeId::kEntryBytes)) {
    text += fmt::format(
        "; an entry of the first-level TLB covers {}, so further accesses within that range do not miss the TLB",
        value_text(*entry));
  }
  return text + ".";
}

}  // namespace

std::vector<Advice> advice_of(const Topology& topology) {
  Grounds grounds(topology);
  std::vector<Advice> advice;
  const auto add = [&](const char* topic, std::string text) {
    std::vector<Advice::Ground> used = grounds.take();
    if (!text.empty()) advice.push_back({topic, std::move(text), std::move(used)});
  };
  add("Memory", bytes_in_flight(topology, grounds, ElementId::kDevice));
  add("L2", bytes_in_flight(topology, grounds, ElementId::kL2));
  add("Tiles in shared memory", shared_tiles(topology, grounds));
  add("Tiles in L2", l2_tiles(topology, grounds));
  add("Carve-out", carve_out(topology, grounds));
  add("Strides", strides(topology, grounds));
  add("Banks", banks(topology, grounds));
  add("Pages", pages(grounds));
  return advice;
}

std::string grounds_text(const Advice& advice) {
  std::vector<std::string> paths;
  for (const Advice::Ground& ground : advice.grounds) paths.push_back(json_path(ground.group, ground.attribute));
  return fmt::format("{}", fmt::join(paths, ", "));
}

}  // namespace gputopo::report
