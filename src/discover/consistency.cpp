#include "discover/consistency.h"

#include <fmt/format.h>

#include <algorithm>

namespace gputopo {
namespace {

class Checker {
 public:
  explicit Checker(Topology& topology) : topology_(topology) {}

  void run() {
    latency_in_order({"l1", "l2", "device"});
    latency_in_order({"vl1", "l2", "l3", "device"});
    latency_in_order({"sl1d", "l2"});
    latency_in_order({"texture", "l2"});
    latency_in_order({"readonly", "l2"});
    latency_in_order({"constant_l1", "constant_l15", "l2"});
    for (const MemoryElement& element : topology_.memory) {
      line_holds_fetch(element.id);
      edges_in_order(element.id);
    }
    sharing_is_consistent();
    bandwidth_is_possible();
    size_agrees_with_api("l2");
    size_agrees_with_api("l3");
  }

 private:
  Attribute* attribute(std::string_view element, std::string_view id) {
    for (MemoryElement& candidate : topology_.memory) {
      if (candidate.id != element) continue;
      for (auto& [name, value] : candidate.attributes) {
        if (name == id && value.available()) return &value;
      }
    }
    return nullptr;
  }

  static void flag(Attribute& attribute, const std::string& text) { attribute.flags.push_back(text); }

  void latency_in_order(const std::vector<std::string>& elements) {
    for (std::size_t i = 1; i < elements.size(); ++i) {
      Attribute* nearer = attribute(elements[i - 1], "latency");
      Attribute* farther = attribute(elements[i], "latency");
      if (nearer != nullptr && farther != nullptr && *nearer->number() >= *farther->number()) {
        flag(*farther, fmt::format("latency_out_of_order: not above that of {}", elements[i - 1]));
      }
    }
  }

  void line_holds_fetch(const std::string& element) {
    Attribute* line = attribute(element, "line_size");
    const Attribute* fetch = attribute(element, "fetch_granularity");
    if (line != nullptr && fetch != nullptr && *fetch->number() > *line->number()) {
      flag(*line, "line_below_fetch_granularity");
    }
  }

  void edges_in_order(const std::string& element) {
    Attribute* size = attribute(element, "size");
    if (size == nullptr || size->source != Source::kMeasured) return;
    const Value* all_miss = size->find_detail("all_miss_bytes");
    const auto* edge = all_miss == nullptr ? nullptr : std::get_if<std::int64_t>(all_miss);
    if (edge != nullptr && *size->number() > static_cast<double>(*edge)) flag(*size, "size_above_all_miss_edge");
  }

  void sharing_is_consistent() {
    for (const MemoryElement& element : topology_.memory) {
      Attribute* shared = attribute(element.id, "shared_with");
      if (shared == nullptr) continue;
      const auto& partners = std::get<std::vector<std::string>>(shared->value);
      for (const std::string& partner : partners) {
        const Attribute* back = attribute(partner, "shared_with");
        if (back == nullptr) continue;
        const auto& others = std::get<std::vector<std::string>>(back->value);
        const auto has = [&](const std::string& id) {
          return std::find(others.begin(), others.end(), id) != others.end();
        };
        if (!has(element.id)) flag(*shared, fmt::format("sharing_not_symmetric: {} does not show it", partner));
        for (const std::string& third : partners) {
          if (third != partner && !has(third))
            flag(*shared, fmt::format("sharing_not_transitive: {} and {}", partner, third));
        }
      }
    }
  }

  void bandwidth_is_possible() {
    const Attribute* theoretical = find(topology_.device, "memory_bandwidth_theoretical");
    if (theoretical == nullptr || !theoretical->number()) return;
    for (const char* id : {"read_bandwidth", "write_bandwidth"}) {
      Attribute* measured = attribute("device", id);
      if (measured != nullptr && *measured->number() > *theoretical->number())
        flag(*measured, "above_theoretical_bandwidth");
    }
  }

  void size_agrees_with_api(std::string_view element) {
    Attribute* size = attribute(element, "size");
    const Value* measured = size == nullptr ? nullptr : size->find_detail("measured_bytes");
    const auto* bytes = measured == nullptr ? nullptr : std::get_if<double>(measured);
    // One SM sees less than the whole where its partition keeps copies of what is at home in another.
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
