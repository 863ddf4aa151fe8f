// Reads machine files: JSON whose keys are the field names of MachineSpec. Any value may be wrapped as
// {"value": X, "source": "where it is from", "guess": true}.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "device/info_fields.h"
#include "device/sim/machine.h"

namespace gputopo::sim {
namespace {

using SortedJson = nlohmann::json;

constexpr int kMachineVersion = 1;

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  throw FormatError(fmt::format("{}: {}", path.empty() ? "machine file" : path, problem));
}

std::string join_path(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

// The value inside {"value": ..., "source": ...}, or the node itself.
const SortedJson& unwrap(const SortedJson& node, const std::string& path) {
  if (!node.is_object() || !node.contains("value")) return node;
  for (const auto& [key, value] : node.items()) {
    const bool fits =
        key == "value" || (key == "source" && value.is_string()) || (key == "guess" && value.is_boolean());
    if (!fits)
      refuse(join_path(path, key), "beside \"value\" only \"source\" (a text) and \"guess\" (true or false) may stand");
  }
  if (!node.contains("source")) refuse(path, "a \"value\" needs its \"source\" beside it");
  return node["value"];
}

// ---- Values ----

template <typename T>
void read(const SortedJson& wrapped, const std::string& path, T& out);

void read_value(const SortedJson& node, const std::string& path, bool& out) {
  if (!node.is_boolean()) refuse(path, fmt::format("{} is not true or false", node.dump()));
  out = node.get<bool>();
}

void read_value(const SortedJson& node, const std::string& path, std::string& out) {
  if (!node.is_string()) refuse(path, fmt::format("{} is not a text", node.dump()));
  out = node.get<std::string>();
}

void read_value(const SortedJson& node, const std::string& path, double& out) {
  if (!node.is_number()) refuse(path, fmt::format("{} is not a number", node.dump()));
  out = node.get<double>();
}

template <typename Integer>
requires std::is_integral_v<Integer>
void read_value(const SortedJson& node, const std::string& path, Integer& out) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<Integer>::max());
  if (!node.is_number_unsigned() || node.get<std::uint64_t>() > kMax) {
    refuse(path, fmt::format("{} is not a whole number between 0 and {}", node.dump(), kMax));
  }
  out = node.get<Integer>();
}

template <typename Enum>
using EnumNames = std::vector<std::pair<std::string, Enum>>;

template <typename Enum>
void read_enum(const SortedJson& node, const std::string& path, const EnumNames<Enum>& names, Enum& out) {
  std::string allowed;
  for (const auto& [name, value] : names) {
    if (node.is_string() && node.get<std::string>() == name) {
      out = value;
      return;
    }
    allowed += (allowed.empty() ? "" : ", ") + name;
  }
  refuse(path, fmt::format("{} is not one of {}", node.dump(), allowed));
}

void read_value(const SortedJson& node, const std::string& path, Replacement& out) {
  read_enum(node, path,
            {{"lru", Replacement::kLru},
             {"tree_plru", Replacement::kTreePlru},
             {"random", Replacement::kRandom},
             {"fifo", Replacement::kFifo}},
            out);
}

void read_value(const SortedJson& node, const std::string& path, IndexHash& out) {
  read_enum(node, path,
            {{"modulo", IndexHash::kModulo},
             {"xor_fold", IndexHash::kXorFold},
             {"mixed", IndexHash::kMixed},
             {"turns", IndexHash::kTurns}},
            out);
}

void read_value(const SortedJson& node, const std::string& path, Scope& out) {
  read_enum(
      node, path,
      {{"sm", Scope::kSm}, {"tpc", Scope::kTpc}, {"group", Scope::kGroup}, {"xcd", Scope::kXcd}, {"gpu", Scope::kGpu}},
      out);
}

void read_value(const SortedJson& node, const std::string& path, WritePolicy& out) {
  read_enum(node, path, {{"through", WritePolicy::kThrough}, {"back", WritePolicy::kBack}}, out);
}

void read_value(const SortedJson& node, const std::string& path, StoreHit& out) {
  read_enum(node, path, {{"update", StoreHit::kUpdate}, {"invalidate", StoreHit::kInvalidate}}, out);
}

template <typename T>
void read_value(const SortedJson& node, const std::string& path, std::optional<T>& out) {
  read(node, path, out.emplace());
}

template <typename T>
void read_value(const SortedJson& node, const std::string& path, std::vector<T>& out) {
  if (!node.is_array()) refuse(path, "is not a list");
  for (std::size_t i = 0; i < node.size(); ++i) read(node[i], fmt::format("{}[{}]", path, i), out.emplace_back());
}

// ---- Objects: a table of fields, one row each ----

struct Field {
  std::string name;
  std::function<void(const SortedJson& node, const std::string& path)> read_into;
  bool required = false;
};

template <typename T>
Field field(std::string name, T& out) {
  return {std::move(name), [&out](const SortedJson& node, const std::string& path) { read(node, path, out); }};
}

template <typename T>
Field required_field(std::string name, T& out) {
  Field row = field(std::move(name), out);
  row.required = true;
  return row;
}

// Every key must be a field of the table, or "comment".
void read_object(const SortedJson& node, const std::string& path, const std::vector<Field>& fields) {
  if (!node.is_object()) refuse(path, "is not an object");
  for (const auto& [key, value] : node.items()) {
    if (key == "comment") continue;
    const auto row =
        std::find_if(fields.begin(), fields.end(), [&, &name = key](const Field& f) { return f.name == name; });
    if (row == fields.end()) {
      std::string known;
      for (const Field& f : fields) known += (known.empty() ? "" : ", ") + f.name;
      refuse(join_path(path, key), "unknown field; the fields here are " + known);
    }
    row->read_into(value, join_path(path, key));
  }
  for (const Field& f : fields) {
    if (f.required && !node.contains(f.name)) refuse(join_path(path, f.name), "is missing");
  }
}

void read_value(const SortedJson& node, const std::string& path, DeviceInfo& info) {
  std::vector<Field> fields;
  visit_info_fields(info, [&](std::string name, auto& out) {
    const bool required = name == "vendor" || name == "name" || name == "sm_count";
    fields.push_back(field(std::move(name), out));
    fields.back().required = required;
  });
  read_object(node, path, fields);
}

void read_value(const SortedJson& node, const std::string& path, CacheSpec& cache) {
  read_object(
      node, path,
      {required_field("id", cache.id), required_field("size_bytes", cache.size_bytes), field("unified", cache.unified),
       required_field("line_bytes", cache.line_bytes), required_field("sector_bytes", cache.sector_bytes),
       field("ways", cache.ways), field("set_ways", cache.set_ways), field("replacement", cache.replacement),
       field("victim_weights", cache.victim_weights), field("set_interleave_bytes", cache.set_interleave_bytes),
       field("index", cache.index), field("scope", cache.scope), field("instances", cache.instances),
       field("partitions", cache.partitions), field("write_policy", cache.write_policy),
       field("write_allocate", cache.write_allocate), field("store_hit", cache.store_hit)});
}

void read_value(const SortedJson& node, const std::string& path, PathStop& stop) {
  read_object(node, path,
              {required_field("cache", stop.cache), required_field("latency_cycles", stop.latency_cycles),
               field("far_latency_cycles", stop.far_latency_cycles)});
}

void read_value(const SortedJson& node, const std::string& path, SpaceSpec& space) {
  read_object(node, path,
              {field("path", space.path), required_field("memory_latency_cycles", space.memory_latency_cycles)});
}

void read_value(const SortedJson& node, const std::string& path, std::map<Space, SpaceSpec>& spaces) {
  std::map<Space, SpaceSpec> all;
  std::vector<Field> fields;
  for (const Space space : kAllSpaces) fields.push_back(field(std::string(to_string(space)), all[space]));
  read_object(node, path, fields);
  for (const auto& [space, spec] : all) {
    if (node.contains(to_string(space))) spaces[space] = spec;
  }
}

void read_value(const SortedJson& node, const std::string& path, CodeStop& stop) {
  read_object(
      node, path,
      {required_field("cache", stop.cache), required_field("cycles_per_instruction", stop.cycles_per_instruction)});
}

void read_value(const SortedJson& node, const std::string& path, CodeSpec& code) {
  read_object(node, path,
              {required_field("bytes_per_instruction", code.bytes_per_instruction), required_field("path", code.path),
               required_field("memory_cycles_per_instruction", code.memory_cycles_per_instruction),
               field("loop_cycles", code.loop_cycles)});
}

void read_value(const SortedJson& node, const std::string& path, TlbSpec& tlb) {
  read_object(
      node, path,
      {required_field("page_bytes", tlb.page_bytes), required_field("entries", tlb.entries), field("ways", tlb.ways),
       field("set_ways", tlb.set_ways), field("index", tlb.index), field("scope", tlb.scope),
       required_field("miss_cycles", tlb.miss_cycles), field("memory_miss_cycles", tlb.memory_miss_cycles)});
}

void read_value(const SortedJson& node, const std::string& path, BandwidthSpec& bandwidth) {
  read_object(node, path,
              {required_field("read_bytes_per_second", bandwidth.read_bytes_per_second),
               field("write_bytes_per_second", bandwidth.write_bytes_per_second),
               field("half_bytes_in_flight", bandwidth.half_bytes_in_flight)});
}

void read_value(const SortedJson& node, const std::string& path, BankSpec& banks) {
  read_object(node, path,
              {required_field("banks", banks.banks), required_field("bank_bytes", banks.bank_bytes),
               field("lanes_at_once", banks.lanes_at_once), required_field("conflict_cycles", banks.conflict_cycles),
               field("store_latency_cycles", banks.store_latency_cycles)});
}

void read_value(const SortedJson& node, const std::string& path, AtomicSpec& atomics) {
  read_object(node, path,
              {required_field("latency_cycles", atomics.latency_cycles),
               required_field("one_address_latency_cycles", atomics.one_address_latency_cycles),
               required_field("lanes_per_cycle", atomics.lanes_per_cycle),
               required_field("one_address_lanes_per_cycle", atomics.one_address_lanes_per_cycle)});
}

void read_value(const SortedJson& node, const std::string& path, ClusterBandwidth& bandwidth) {
  read_object(node, path,
              {required_field("cluster_size", bandwidth.cluster_size),
               required_field("read_bytes_per_second", bandwidth.read_bytes_per_second)});
}

void read_value(const SortedJson& node, const std::string& path, ClusterSpec& clusters) {
  read_object(node, path,
              {required_field("max_size", clusters.max_size), required_field("latency_cycles", clusters.latency_cycles),
               field("other_tpc_cycles", clusters.other_tpc_cycles), field("spread_cycles", clusters.spread_cycles),
               required_field("bandwidths", clusters.bandwidths)});
}

void read_value(const SortedJson& node, const std::string& path, BulkCopySpec& bulk) {
  read_object(
      node, path,
      {required_field("overhead_cycles", bulk.overhead_cycles), required_field("issue_cycles", bulk.issue_cycles),
       required_field("bytes_per_cycle", bulk.bytes_per_cycle)});
}

// By level; check_machine() knows which levels there are.
template <typename Spec>
void read_value(const SortedJson& node, const std::string& path, std::map<std::string, Spec>& levels) {
  if (!node.is_object()) refuse(path, "is not an object");
  for (const auto& [level, value] : node.items()) {
    if (level != "comment") read(value, join_path(path, level), levels[level]);
  }
}

void read_value(const SortedJson& node, const std::string& path, NoiseSpec& noise) {
  read_object(node, path,
              {field("jitter_cycles", noise.jitter_cycles), field("outlier_probability", noise.outlier_probability),
               field("outlier_cycles", noise.outlier_cycles), field("drift_fraction", noise.drift_fraction),
               field("interference_probability", noise.interference_probability),
               field("bandwidth_sigma", noise.bandwidth_sigma)});
}

void read_value(const SortedJson& node, const std::string& path, SliceSpec& slices) {
  read_object(node, path,
              {required_field("count", slices.count), required_field("partition_cycles", slices.partition_cycles),
               field("tpc_cycles", slices.tpc_cycles)});
}

template <typename T>
void read(const SortedJson& wrapped, const std::string& path, T& out) {
  read_value(unwrap(wrapped, path), path, out);
}

// "line 3, column 7", from nlohmann's byte offset.
std::string place_in(const std::string& text, std::size_t byte) {
  const std::string before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.rfind('\n') == std::string::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}", line, before.size() - line_start + 1);
}

}  // namespace

MachineSpec parse_machine(const std::string& json_text) {
  SortedJson document;
  try {
    document = SortedJson::parse(json_text);
  } catch (const SortedJson::parse_error& error) {
    throw FormatError(fmt::format("machine file: not JSON at {}; correct it there", place_in(json_text, error.byte)));
  }
  MachineSpec spec;
  int version = 0;
  read_object(
      document, "",
      {required_field("machine_version", version), required_field("info", spec.info),
       required_field("caches", spec.caches), required_field("spaces", spec.spaces), field("code", spec.code),
       field("tlbs", spec.tlbs), field("bandwidths", spec.bandwidths), field("banks", spec.banks),
       field("atomics", spec.atomics), field("clusters", spec.clusters), field("bulk_copies", spec.bulk_copies),
       field("noise", spec.noise), field("timer_cycles", spec.timer_cycles), field("loop_cycles", spec.loop_cycles),
       field("sms_per_tpc", spec.sms_per_tpc), field("sm_groups", spec.sm_groups), field("slices", spec.slices),
       field("sms_near_first_partition", spec.sms_near_first_partition)});
  if (version != kMachineVersion) {
    refuse("machine_version", fmt::format("{} is not {}; this gputopo reads machine files of version {} only", version,
                                          kMachineVersion, kMachineVersion));
  }
  check_machine(spec);
  return spec;
}

// Generated from machines/*.json by cmake/embed_machines.cmake.
extern const std::pair<std::string_view, std::string_view> kBuiltinMachines[];
extern const unsigned kBuiltinMachineCount;

std::optional<std::string> builtin_machine(const std::string& name) {
  for (unsigned i = 0; i < kBuiltinMachineCount; ++i) {
    if (kBuiltinMachines[i].first == name) return std::string(kBuiltinMachines[i].second);
  }
  return std::nullopt;
}

std::vector<std::string> builtin_machine_names() {
  std::vector<std::string> names;
  for (unsigned i = 0; i < kBuiltinMachineCount; ++i) names.emplace_back(kBuiltinMachines[i].first);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace gputopo::sim
