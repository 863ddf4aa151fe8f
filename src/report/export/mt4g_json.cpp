// The JSON of MT4G 1.x. Readers rely on its form and on required keys: sys-sage 1.1 catches no exception and ends the
// process on a missing key, a null or a count of 0. So each key is written completely or not at all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "gputopo/error.h"
#include "gputopo/export.h"
#include "report/words/hierarchy.h"
#include "report/words/values.h"

namespace gputopo {
namespace {

using SortedJson = nlohmann::json;  // sorted keys, like MT4G's
using report::count_of;
using report::detail_of;
using report::number_of;

constexpr std::string_view kMt4gJsonFormat = "MT4G's JSON";
constexpr std::int64_t kMostInt = 2147483647;  // most numbers have 32 bits in readers
constexpr double kBytesOfGib = 1024.0 * 1024 * 1024;
constexpr int kSpacesPerLevel = 4;

// ---- The three forms of a value ----

template <typename Number>
SortedJson told(Number value, const char* unit) {
  return {{"value", value}, {"unit", unit}};
}

// MT4G's confidence in a size: above 0.5 is valid. Nobody relies on more precision.
double confidence_of(const Attribute& attribute) {
  constexpr double kMeasuredConfidence = 0.95;  // confidence level of our intervals
  return attribute.source == Source::kMeasured ? kMeasuredConfidence : 1.0;
}

SortedJson size_json(std::int64_t bytes, double confidence) {
  return {{"size", bytes}, {"unit", "bytes"}, {"confidence", confidence}, {"method", "p-chase"}, {"randomized", true}};
}

// Returns the number of loads in a latency's histogram; none if the report has no such samples.
std::optional<std::int64_t> loads_behind(const Attribute& latency) {
  for (const SampleTable& table : latency.samples) {
    if (table.plot != Plot::kBars || table.data.size() != table.columns.size()) continue;
    const auto column = std::ranges::find(table.columns, ColumnRole::kValue, &Column::role);
    if (column == table.columns.end()) continue;
    const std::vector<double>& counts = table.data[static_cast<std::size_t>(column - table.columns.begin())];
    const double loads = std::accumulate(counts.begin(), counts.end(), 0.0);
    return report::whole(std::isfinite(loads) && loads > 0 ? std::optional(loads) : std::nullopt);
  }
  return std::nullopt;
}

std::optional<SortedJson> latency_json(const Topology& topology, ElementId element) {
  const std::optional<double> mean = number_of(topology, element, AttributeId::kLatency);
  if (!mean) return std::nullopt;
  const Attribute& latency = *topology.find_attribute(element, AttributeId::kLatency);
  SortedJson json{{"mean", *mean},
                  {"p50", detail_of(&latency, "p50_cycles").value_or(*mean)},
                  {"p95", detail_of(&latency, "p95_cycles").value_or(*mean)},
                  {"stdev", detail_of(&latency, "standard_deviation_cycles").value_or(0)},
                  {"unit", "cycles"},
                  {"method", "p-chase"}};
  if (const auto loads = loads_behind(latency)) json["measurements"] = json["sampleSize"] = *loads;
  return json;
}

// ---- Parts of an element, each written if the report has it ----

struct Part {
  const char* key;
  AttributeId attribute;
};

void add_size(SortedJson& json, const Topology& topology, ElementId element, const Part& part) {
  const auto bytes = count_of(topology, element, part.attribute);
  if (!bytes) return;
  json[part.key] = size_json(*bytes, confidence_of(*topology.find_attribute(element, part.attribute)));
}

// For AMD's L2 and L3, readers expect the line size as a number without a confidence.
void add_told_line(SortedJson& json, const Topology& topology, ElementId element) {
  if (const auto line = count_of(topology, element, AttributeId::kLineSize)) json["lineSize"] = told(*line, "bytes");
}

void add_latency(SortedJson& json, const Topology& topology, ElementId element) {
  if (auto latency = latency_json(topology, element)) json["latency"] = std::move(*latency);
}

void add_miss_penalty(SortedJson& json, const Topology& topology, ElementId element) {
  if (const auto cycles = number_of(topology, element, AttributeId::kMissPenalty)) {
    json["missPenalty"] = told(*cycles, "cycles");
  }
}

// Writes both or neither: a reader that finds one expects the other.
bool add_bandwidths(SortedJson& json, const Topology& topology, ElementId element) {
  const auto read = number_of(topology, element, AttributeId::kReadBandwidth);
  const auto write = number_of(topology, element, AttributeId::kWriteBandwidth);
  if (!read || !write) return false;
  json["readBandwidth"] = told(*read / kBytesOfGib, "GiB/s");
  json["writeBandwidth"] = told(*write / kBytesOfGib, "GiB/s");
  return true;
}

// A reader that finds a latency expects the bandwidths.
void add_latency_and_bandwidths(SortedJson& json, const Topology& topology, ElementId element) {
  if (add_bandwidths(json, topology, element)) add_latency(json, topology, element);
}

// Readers distribute an SM's cores over its caches, so the amount must divide the number of cores.
void add_amount(SortedJson& json, const Topology& topology, ElementId element) {
  const auto amount = count_of(topology, element, AttributeId::kAmount);
  const auto cores = count_of(topology, AttributeId::kCoresPerSm);
  if (amount && cores && *amount > 0 && *cores % *amount == 0) json["amountPerMultiprocessor"] = *amount;
}

std::optional<SortedJson> shared_with(const Topology& topology, ElementId element) {
  constexpr std::pair<ElementId, const char*> kNames[] = {{ElementId::kL1, "L1"},
                                                          {ElementId::kTexture, "Texture"},
                                                          {ElementId::kReadOnly, "Read Only"},
                                                          {ElementId::kConstantL1, "Constant L1"}};
  const Attribute* attribute = topology.find_attribute(element, AttributeId::kSharedWith);
  if (attribute == nullptr || !attribute->available()) return std::nullopt;
  SortedJson names = SortedJson::array();
  const std::vector<std::string> partners = report::texts_of(attribute);
  for (const auto& [id, name] : kNames) {
    if (std::ranges::find(partners, to_string(id)) != partners.end()) names.push_back(name);
  }
  return names;
}

// Readers require these keys of every cache except L1.
bool is_whole(const SortedJson& cache) {
  return cache.contains("size") && cache.contains("fetchGranularity") && cache.contains("latency");
}

SortedJson cache_json(const Topology& topology, ElementId element) {
  SortedJson json = SortedJson::object();
  for (const Part& part : {Part{"size", AttributeId::kSize}, Part{"lineSize", AttributeId::kLineSize},
                           Part{"fetchGranularity", AttributeId::kFetchGranularity}}) {
    add_size(json, topology, element, part);
  }
  add_latency(json, topology, element);
  add_miss_penalty(json, topology, element);
  return json;
}

SortedJson sm_cache_json(const Topology& topology, ElementId element) {
  SortedJson json = cache_json(topology, element);
  add_amount(json, topology, element);
  if (auto names = shared_with(topology, element)) json["sharedWith"] = std::move(*names);
  return json;
}

// ---- The document ----

std::int64_t needed_int(const Topology& topology, AttributeId attribute, std::int64_t least = 0) {
  const std::int64_t number = report::needed(topology, kMt4gJsonFormat, attribute);
  if (number < least || number > kMostInt) {
    throw FormatError(fmt::format("{} needs {} from {} to {}, but the report has {}", kMt4gJsonFormat,
                                  to_string(attribute), least, kMostInt, number));
  }
  return number;
}

std::int64_t needed_khz(const Topology& topology, AttributeId clock, AttributeId otherwise) {
  constexpr double kKhzPerMhz = 1000;
  std::optional<double> mhz = number_of(topology, clock);
  if (!mhz) mhz = number_of(topology, otherwise);
  if (!mhz) return report::needed(topology, kMt4gJsonFormat, clock);  // throws an error that names the value
  return std::min(report::whole(*mhz * kKhzPerMhz).value_or(kMostInt), kMostInt);
}

SortedJson general_json(const Topology& topology) {
  const auto capability = report::capability_of(topology);
  if (!capability) {
    throw FormatError(
        fmt::format("{} needs device.compute_capability, which the report does not have; discover the GPU again with a "
                    "driver that reports it",
                    kMt4gJsonFormat));
  }
  return {{"name", topology.name},
          {"vendor", to_string(vendor_of(topology.vendor))},
          {"computeCapability", {{"major", capability->first}, {"minor", capability->second}}},
          {"clockRate", told(needed_khz(topology, AttributeId::kSmClockMax, AttributeId::kSmClock), "kHz")}};
}

SortedJson compute_json(const Topology& topology) {
  constexpr Part kNeeded[] = {{"numberOfCoresPerMultiProcessor", AttributeId::kCoresPerSm},
                              {"maxThreadsPerBlock", AttributeId::kMaxThreadsPerBlock},
                              {"warpSize", AttributeId::kWarpSize},
                              {"maxThreadsPerMultiProcessor", AttributeId::kMaxThreadsPerSm},
                              {"maxBlocksPerMultiProcessor", AttributeId::kMaxBlocksPerSm}};
  // Readers misspell two keys, so both spellings are written.
  constexpr Part kOptional[] = {{"regsPerBlock", AttributeId::kRegistersPerBlock},
                                {"regsPerMultiProcessor", AttributeId::kRegistersPerSm},
                                {"numXCDs", AttributeId::kXcdCount},
                                {"numXDCDs", AttributeId::kXcdCount},
                                {"computeUnitsPerDie", AttributeId::kSmsPerXcd},
                                {"numSIMDsPerCU", AttributeId::kSimdsPerSm},
                                {"numSIMDsPerCu", AttributeId::kSimdsPerSm}};
  SortedJson json;
  json["multiProcessorCount"] = needed_int(topology, AttributeId::kSmCount, 1);
  for (const Part& count : kNeeded) json[count.key] = needed_int(topology, count.attribute, 1);
  for (const Part& count : kOptional) {
    const auto number = count_of(topology, count.attribute);
    if (number && *number <= kMostInt) json[count.key] = *number;
  }
  return json;
}

SortedJson main_json(const Topology& topology) {
  SortedJson json{{"totalGlobalMem",
                   told(report::needed(topology, kMt4gJsonFormat, ElementId::kDevice, AttributeId::kSize), "bytes")},
                  {"memoryClockRate",
                   told(needed_khz(topology, AttributeId::kMemoryClockMax, AttributeId::kMemoryClockMax), "kHz")},
                  {"memoryBusWidth", told(needed_int(topology, AttributeId::kMemoryBusWidth), "bit")}};
  add_latency_and_bandwidths(json, topology, ElementId::kDevice);
  return json;
}

// Number of L2 caches; 1 if it does not divide the SM count: readers distribute the SMs and would lose some.
std::int64_t l2_amount(const Topology& topology) {
  const auto amount = count_of(topology, ElementId::kL2, AttributeId::kAmount);
  const auto sms = count_of(topology, AttributeId::kSmCount);
  return amount && sms && *amount > 0 && *sms % *amount == 0 ? *amount : 1;
}

SortedJson l2_json(const Topology& topology) {
  const std::int64_t bytes = report::needed(topology, kMt4gJsonFormat, ElementId::kL2, AttributeId::kSize);
  SortedJson json{{"size", told(std::min(bytes, kMostInt), "bytes")}};
  add_latency_and_bandwidths(json, topology, ElementId::kL2);
  add_miss_penalty(json, topology, ElementId::kL2);
  add_size(json, topology, ElementId::kL2, {"fetchGranularity", AttributeId::kFetchGranularity});
  if (vendor_of(topology.vendor) == Vendor::kAmd) {
    add_told_line(json, topology, ElementId::kL2);
    json["amount"] = l2_amount(topology);
    return json;
  }
  add_size(json, topology, ElementId::kL2, {"lineSize", AttributeId::kLineSize});
  const auto partitions = count_of(topology, ElementId::kL2, AttributeId::kPartitions);
  if (partitions && *partitions > 0 && bytes % *partitions == 0) {
    SortedJson segment = size_json(bytes / *partitions,
                                   confidence_of(*topology.find_attribute(ElementId::kL2, AttributeId::kPartitions)));
    segment["method"] = "amount";
    json["segmentSize"] = std::move(segment);
  }
  return json;
}

// Empty if there is no L3.
SortedJson l3_json(const Topology& topology) {
  SortedJson json = SortedJson::object();
  const auto bytes = count_of(topology, ElementId::kL3, AttributeId::kSize);
  if (!bytes) return json;
  json["size"] = told(*bytes, "bytes");
  const auto amount = count_of(topology, ElementId::kL3, AttributeId::kAmount);
  if (amount && *amount > 0 && l2_amount(topology) % *amount == 0) json["amount"] = *amount;
  add_told_line(json, topology, ElementId::kL3);
  add_bandwidths(json, topology, ElementId::kL3);
  add_latency(json, topology, ElementId::kL3);
  return json;
}

// Groups of CUs in die order, with consecutive numbers: readers distribute them over the L2s in this order. None if a
// CU is in two groups or in none, because readers would lose it.
std::vector<std::vector<std::uint32_t>> scalar_groups(const Topology& topology) {
  const Attribute* attribute = topology.find_attribute(ElementId::kSl1d, AttributeId::kSharedBetween);
  const auto* held = attribute == nullptr ? nullptr : std::get_if<UnitGroups>(&attribute->value);
  if (held == nullptr) return {};
  std::vector<std::vector<std::uint32_t>> groups = held->groups;
  std::set<std::uint32_t> seen;
  for (std::vector<std::uint32_t>& group : groups) {
    std::ranges::sort(group);
    for (const std::uint32_t unit : group) {
      if (!seen.insert(unit).second) return {};
    }
  }
  std::erase_if(groups, [](const std::vector<std::uint32_t>& group) { return group.empty(); });
  std::ranges::sort(groups);
  const bool has_all = static_cast<std::int64_t>(seen.size()) == count_of(topology, AttributeId::kSmCount).value_or(0);
  const bool divides = static_cast<std::int64_t>(groups.size()) % l2_amount(topology) == 0;
  return has_all && divides ? groups : std::vector<std::vector<std::uint32_t>>{};
}

// Without the groups, readers would assume one cache for the whole GPU.
SortedJson scalar_json(const Topology& topology) {
  const auto groups = scalar_groups(topology);
  SortedJson json = cache_json(topology, ElementId::kSl1d);
  if (groups.empty() || !is_whole(json)) return SortedJson::object();
  json["uniqueAmount"] = groups.size();
  json["sharedBetween"] = groups;
  return json;
}

// MT4G's convention for a cache larger than all constants: one byte more, and confidence 0.
SortedJson constant_l15_json(const Topology& topology) {
  constexpr std::int64_t kMoreThanAll = 65537;
  SortedJson json = cache_json(topology, ElementId::kConstantL15);
  json.erase("missPenalty");
  if (json.contains("size") || !json.contains("latency")) return json;
  json["size"] = size_json(kMoreThanAll, 0);
  json.erase("lineSize");
  return json;
}

SortedJson constant_json(const Topology& topology) {
  constexpr std::int64_t kAmdConstants = 2147483647;  // HIP's answer for every GPU: constants are in device memory
  const bool is_amd = vendor_of(topology.vendor) == Vendor::kAmd;
  const auto reported_bytes = count_of(topology, AttributeId::kConstantMemory);
  const std::int64_t bytes = is_amd ? reported_bytes.value_or(kAmdConstants)
                                    : report::needed(topology, kMt4gJsonFormat, AttributeId::kConstantMemory);
  SortedJson json{{"totalConstMem", told(bytes, "bytes")}};
  SortedJson l1 = sm_cache_json(topology, ElementId::kConstantL1);
  SortedJson l15 = constant_l15_json(topology);
  if (!is_whole(l1) || !l15.contains("size") || !l15.contains("fetchGranularity")) return json;
  // Readers take a cache with this key, even if empty, for a part of another cache.
  if (l1.contains("sharedWith") && l1["sharedWith"].empty()) l1.erase("sharedWith");
  json["l1"] = std::move(l1);
  json["l1.5"] = std::move(l15);
  return json;
}

SortedJson shared_json(const Topology& topology) {
  SortedJson json;
  const auto add = [&](const char* key, AttributeId attribute) {
    json[key] = told(report::needed(topology, kMt4gJsonFormat, attribute), "bytes");
  };
  add("sharedMemPerBlock", AttributeId::kSharedMemoryPerBlock);
  add("sharedMemPerMultiProcessor", AttributeId::kSharedMemoryPerSm);
  if (count_of(topology, AttributeId::kSharedMemoryReservedPerBlock)) {
    add("reservedSharedMemPerBlock", AttributeId::kSharedMemoryReservedPerBlock);
  }
  add_latency(json, topology, report::scratchpad(topology));
  return json;
}

// True if loads use an L1; written only if the report knows.
SortedJson l1_json(const Topology& topology) {
  const ElementId id = report::first_level(topology);
  SortedJson json = sm_cache_json(topology, id);
  const Attribute* size = topology.find_attribute(id, AttributeId::kSize);
  if (size != nullptr && (size->available() || size->reason == Reason::kNotPresent)) {
    json["globalL1CacheSupported"] = size->available();
  }
  return json;
}

SortedJson memory_json(const Topology& topology) {
  SortedJson json{{"main", main_json(topology)},
                  {"l2", l2_json(topology)},
                  {"l1", l1_json(topology)},
                  {"constant", constant_json(topology)},
                  {"shared", shared_json(topology)}};
  if (SortedJson l3 = l3_json(topology); !l3.empty()) json["l3"] = std::move(l3);
  if (SortedJson scalar = scalar_json(topology); !scalar.empty()) json["scalarL1"] = std::move(scalar);
  for (const auto& [key, id] :
       {std::pair{"texture", ElementId::kTexture}, std::pair{"readOnly", ElementId::kReadOnly}}) {
    if (SortedJson cache = sm_cache_json(topology, id); is_whole(cache)) json[key] = std::move(cache);
  }
  return json;
}

// gputopo's own keys, which readers ignore.
SortedJson gputopo_json(const Topology& topology) {
  return {{"generator", topology.generator},
          {"simulated", topology.simulated},
          {"complete", topology.complete},
          {"notices", report::notices(topology)}};
}

SortedJson meta_json(const Topology& topology) {
  SortedJson json{{"timestamp", topology.timestamp}};
  for (const Part& part : {Part{"hostCpu", AttributeId::kHostCpu}, Part{"os", AttributeId::kOs}}) {
    const Attribute* attribute = find(topology.device, part.attribute);
    if (attribute != nullptr && attribute->available()) json[part.key] = report::value_text(*attribute);
  }
  return json;
}

}  // namespace

std::string to_mt4g_json(const Topology& topology) {
  const SortedJson document{{"general", general_json(topology)},
                            {"compute", compute_json(topology)},
                            {"memory", memory_json(topology)},
                            {"meta", meta_json(topology)},
                            {"gputopo", gputopo_json(topology)}};
  return document.dump(kSpacesPerLevel, ' ', false, SortedJson::error_handler_t::replace) + "\n";
}

}  // namespace gputopo
