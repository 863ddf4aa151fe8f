#include "discover/consistency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "discover/theoretical.h"

namespace gputopo {
namespace {

class Checker {
 public:
  explicit Checker(Topology& topology) : topology_(topology) {}

  void run() {
    for (const MemoryElement& element : topology_.memory) {
      if (const ElementInfo* info = find_element(element.id)) {
        latency_in_order(*info);
        // Only shared caches: few threads read an SM's constant cache at once, so it may be slower than all of memory.
        if (info->kind == ElementKind::kDataCache && info->space == Space::kGlobalBypassL1) {
          is_quicker_than_memory(element.id);
        }
        if (coverage_of(vendor(), info->id, AttributeId::kSize) == Coverage::kApiAndMeasured) {
          size_agrees_with_api(info->id);
        }
      }
      line_holds_fetch(element.id);
      edges_in_order(element.id);
    }
    sharing_is_consistent();
  }

 private:
  [[nodiscard]] Vendor vendor() const { return vendor_of(topology_.vendor); }

  // The available attribute, or nullptr.
  Attribute* attribute(std::string_view element, AttributeId id) {
    for (MemoryElement& candidate : topology_.memory) {
      if (candidate.id != element) continue;
      for (auto& [name, value] : candidate.attributes) {
        if (name == to_string(id) && value.available()) return &value;
      }
    }
    return nullptr;
  }

  static void flag(Attribute& attribute, const std::string& text) { attribute.flags.push_back(text); }

  void latency_in_order(const ElementInfo& nearer_info) {
    const std::optional<ElementId> next = next_of(vendor(), nearer_info.id);
    if (!next) return;
    Attribute* nearer = attribute(nearer_info.name, AttributeId::kLatency);
    Attribute* farther = attribute(to_string(*next), AttributeId::kLatency);
    if (nearer != nullptr && farther != nullptr && *nearer->number() >= *farther->number()) {
      flag(*farther,
           fmt::format("latency_out_of_order: this latency is not higher than the latency of {}, a nearer level",
                       nearer_info.name));
    }
  }

  void line_holds_fetch(const std::string& element) {
    Attribute* line = attribute(element, AttributeId::kLineSize);
    const Attribute* fetch = attribute(element, AttributeId::kFetchGranularity);
    if (line != nullptr && fetch != nullptr && *fetch->number() > *line->number()) {
      flag(*line, "line_below_fetch_granularity");
    }
  }

  void edges_in_order(const std::string& element) {
    Attribute* size = attribute(element, AttributeId::kSize);
    if (size == nullptr || size->source != Source::kMeasured) return;
    const Value* all_miss = size->find_detail("all_miss_bytes");
    const auto* edge = all_miss == nullptr ? nullptr : std::get_if<std::int64_t>(all_miss);
    if (edge != nullptr && *size->number() > static_cast<double>(*edge)) flag(*size, "size_above_all_miss_edge");
  }

  void sharing_is_consistent() {
    for (const MemoryElement& element : topology_.memory) {
      Attribute* shared = attribute(element.id, AttributeId::kSharedWith);
      if (shared == nullptr) continue;
      for (const std::string& partner : partners_of(*shared)) {
        const Attribute* back = attribute(partner, AttributeId::kSharedWith);
        if (back != nullptr) partner_agrees(element.id, partner, *back, *shared);
      }
    }
  }

  static const std::vector<std::string>& partners_of(const Attribute& shared) {
    return std::get<std::vector<std::string>>(shared.value);
  }

  // Caches that only --full compares with others are named by no others.
  [[nodiscard]] bool is_compared_by_others(const std::string& element) const {
    const ElementInfo* info = find_element(element);
    return info != nullptr && coverage_of(vendor(), info->id, AttributeId::kSharedWith) == Coverage::kMeasured;
  }

  void partner_agrees(const std::string& element, const std::string& partner, const Attribute& back,
                      Attribute& shared) const {
    const std::vector<std::string>& others = partners_of(back);
    const auto has = [&](const std::string& id) { return std::ranges::find(others, id) != others.end(); };
    if (is_compared_by_others(element) && !has(element))
      flag(shared, fmt::format("sharing_not_symmetric: shared_with of {} does not list this cache", partner));
    for (const std::string& third : partners_of(shared)) {
      if (third != partner && !has(third))
        flag(shared,
             fmt::format(
                 "sharing_not_transitive: this cache shares with {0} and {1}, but shared_with of {0} does not list {1}",
                 partner, third));
    }
  }

  // A stream that is no faster than memory did not hit the cache, or it tells nothing about the cache.
  void is_quicker_than_memory(const std::string& cache) {
    Attribute* bandwidth = attribute(cache, AttributeId::kReadBandwidth);
    const Attribute* memory = attribute(to_string(ElementId::kDevice), AttributeId::kReadBandwidth);
    constexpr double kAlike = 1.05;
    if (bandwidth == nullptr || memory == nullptr) return;
    if (is_bound_by_sms(*bandwidth) && is_bound_by_sms(*memory)) return;  // both are what the SMs can request
    if (*bandwidth->number() < kAlike * *memory->number()) {
      flag(*bandwidth, "no_faster_than_memory");
    }
  }

  void size_agrees_with_api(ElementId element) {
    Attribute* size = attribute(to_string(element), AttributeId::kSize);
    const Value* measured = size == nullptr ? nullptr : size->find_detail("measured_bytes");
    const auto* bytes = measured == nullptr ? nullptr : std::get_if<double>(measured);
    // One SM sees less than the whole L2 if its partition keeps copies of lines whose home is another partition.
    constexpr double kTolerance = 0.25;
    if (bytes != nullptr && std::abs(*bytes - *size->number()) > kTolerance * *size->number()) {
      flag(*size, "measured_size_differs_from_api");
    }
  }

  Topology& topology_;
};

}  // namespace

void check_consistency(Topology& topology) {
  Checker(topology).run();
  for (const MemoryElement& element : topology.memory) {
    for (const auto& [id, attribute] : element.attributes) {
      for (const std::string& flag : attribute.flags) {
        topology.warnings.push_back(fmt::format("{}.{}: {}", element.id, id, flag));
      }
    }
  }
}

}  // namespace gputopo
