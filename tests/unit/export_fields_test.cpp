// The origin of each number in the formats of other tools, stated independently of the source: its value in the report
// and the format's unit. A number that the report lacks is left out.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>

#include "gputopo/error.h"
#include "gputopo/export.h"
#include "gputopo/report.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using test::saved_report;

// Numbers in the units of a report (B, B/s, cycles, ns, MHz), by the name in the format.
using FieldNumbers = std::map<std::string, double>;

double factor_of(const std::string& unit) {
  static const std::map<std::string, double> kFactors = {
      {"B", 1},      {"bytes", 1},  {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},    {"GiB/s", 0x1p30},
      {"cycles", 1}, {"kHz", 1e-3}, {"GHz", 1e3},    {"bit", 1},      {"nanoseconds", 1}, {"32-bit registers", 1}};
  return kFactors.at(unit);
}

void add_json(const nlohmann::json& json, const std::string& path, FieldNumbers& fields) {
  if (json.contains("unit")) {
    for (const char* number : {"value", "size", "mean"}) {
      if (json.contains(number)) fields[path] = json[number].get<double>() * factor_of(json["unit"]);
    }
    return;
  }
  for (const auto& [name, member] : json.items()) {
    const std::string below = path.empty() ? name : path + "." + name;
    if (member.is_object()) add_json(member, below, fields);
    if (member.is_number()) fields[below] = member.get<double>();
  }
}

FieldNumbers mt4g_json_fields(const Topology& topology) {
  FieldNumbers fields;
  add_json(nlohmann::json::parse(to_mt4g_json(topology)), "", fields);
  return fields;
}

// "ROW; NAME; NUMBER; UNIT; ...": if a name occurs twice in a row, the unit tells which one it is.
FieldNumbers mt4g_csv_fields(const Topology& topology) {
  FieldNumbers fields;
  std::istringstream lines(to_mt4g_csv(topology));
  const std::regex pattern(R"re(; ([A-Za-z_0-9-]+); ([0-9.]+)(; "?([A-Za-z0-9 -]+)"?)?(?=;|$))re");
  for (std::string line; std::getline(lines, line);) {
    const std::string row = line.substr(0, line.find(';'));
    for (std::sregex_iterator match(line.begin(), line.end(), pattern); match != std::sregex_iterator(); ++match) {
      const std::string unit = (*match)[4];
      const bool has_unit = unit == "KiB" || unit == "MiB" || unit == "GiB" || unit == "B" || unit == "cycles" ||
                            unit == "nanoseconds" || unit == "GHz" || unit == "bit";
      const std::string name = row + "." + (*match)[1].str() + (unit == "nanoseconds" ? " ns" : "");
      fields[name] = std::stod((*match)[2]) * (has_unit ? factor_of(unit) : 1);
    }
  }
  return fields;
}

FieldNumbers accel_sim_fields(const Topology& topology) {
  FieldNumbers fields;
  std::istringstream lines(to_accel_sim(topology));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    if (!line.starts_with("-") || line.find_first_not_of("0123456789", blank + 1) != std::string::npos) continue;
    fields[line.substr(0, blank)] = std::stod(line.substr(blank + 1));
  }
  return fields;
}

FieldNumbers xla_fields(const Topology& topology) {
  FieldNumbers fields;
  std::istringstream lines(to_xla(topology));
  const std::regex pattern(R"(^ +([a-z_0-9]+): ([0-9.e+]+)$)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, pattern)) continue;
    const std::string name = match[1];
    fields[name] = std::stod(match[2]) * (name.ends_with("_ghz") ? 1e3 : 1);
  }
  return fields;
}

// All in GB/s and GFLOP/s.
FieldNumbers roofline_fields(const Topology& topology) {
  FieldNumbers fields;
  std::istringstream lines(to_roofline_csv(topology));
  std::string names;
  std::string numbers;
  std::getline(lines, names);
  std::getline(lines, numbers);
  std::istringstream header(names);
  std::istringstream row(numbers);
  for (std::string name, number; std::getline(header, name, ',');) {
    number.clear();
    std::getline(row, number, ',');
    if (!number.empty() && name != "device") fields[name] = std::stod(number) * 1e9;
  }
  return fields;
}

// Attributes of caches and of memory by their type, and infos by their names.
FieldNumbers hwloc_fields(const Topology& topology) {
  FieldNumbers fields;
  std::istringstream lines(to_hwloc_xml(topology));
  const std::regex info(R"re(.*<info name="Gputopo(\w+)" value="([0-9.e+]+)"/>)re");
  const std::regex object(R"re(.*<object type="(L[123]Cache|NUMANode)".*)re");
  const std::regex number(R"re( (cache_size|cache_linesize|cache_associativity|local_memory)="(\d+)")re");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.find("<info") != std::string::npos && std::regex_match(line, match, info)) {
      fields[match[1]] = std::stod(match[2]);
    }
    const bool may_be_object = line.find("Cache\"") != std::string::npos || line.find("NUMANode") != std::string::npos;
    if (!may_be_object || !std::regex_match(line, match, object)) continue;
    for (std::sregex_iterator one(line.begin(), line.end(), number); one != std::sregex_iterator(); ++one) {
      if (std::stod((*one)[2]) == 0) continue;  // not known
      fields[fmt::format("{} {}", match[1].str(), (*one)[1].str())] = std::stod((*one)[2]);
    }
  }
  return fields;
}

// Paths such as "l1.size", "compute.sm_count", "l1.latency:mean_ns" (a detail) and "l2.read_bandwidth:low".
std::optional<double> of_report(const Topology& topology, const std::string& path) {
  const std::string group = path.substr(0, path.find('.'));
  const std::string rest = path.substr(path.find('.') + 1);
  const std::string name = rest.substr(0, rest.find(':'));
  const Attribute* attribute = group == "compute" ? find(topology.compute, name)
                               : group == "gpu"   ? find(topology.device, name)
                                                  : topology.find_attribute(group, name);
  if (attribute == nullptr || !attribute->available()) return std::nullopt;
  if (rest == name) return attribute->number();
  const std::string part = rest.substr(name.size() + 1);
  if (part == "low") return attribute->low;
  if (part == "high") return attribute->high;
  Attribute detail;
  if (const Value* value = attribute->find_detail(part)) detail.value = *value;
  return detail.number();
}

// Expressions "a - b", "a / b", "a * b", or a path.
std::optional<double> number_of_report(const Topology& topology, const std::string& expression) {
  const std::size_t sign = expression.find(' ');
  const std::optional<double> first = of_report(topology, expression.substr(0, sign));
  if (sign == std::string::npos || !first) return first;
  const std::optional<double> second = of_report(topology, expression.substr(sign + 3));
  // A cache without a number of parts has one part.
  if (!second) return expression[sign + 1] == '/' ? first : std::nullopt;
  switch (expression[sign + 1]) {
    case '-':
      return *first - *second;
    case '/':
      return *first / *second;
    default:
      return *first * *second;
  }
}

// A field of a format, its origin in the report, and its rounding error.
struct FieldOrigin {
  const char* field;
  const char* report;
  double rounding = 0;
};

struct ExportFields {
  const char* name;
  FieldNumbers (*read)(const Topology&);
  std::vector<FieldOrigin> origins;
};

const std::vector<ExportFields>& exported_formats() {
  constexpr double kWhole = 0.51;
  constexpr double kOfKib = 0.001;
  constexpr double kOfMib = 600;
  constexpr double kOfGib = 600;
  constexpr double kOfGhz = 0.51;
  constexpr double kGiga = 5e7;
  static const std::vector<ExportFields> kFormats = {
      {"MT4G's JSON",
       mt4g_json_fields,
       {{"compute.multiProcessorCount", "compute.sm_count"},
        {"compute.numberOfCoresPerMultiProcessor", "compute.cores_per_sm"},
        {"compute.maxThreadsPerBlock", "compute.max_threads_per_block"},
        {"compute.regsPerMultiProcessor", "compute.registers_per_sm"},
        {"memory.l1.size", "l1.size"},
        {"memory.l1.lineSize", "l1.line_size"},
        {"memory.l1.fetchGranularity", "l1.fetch_granularity"},
        {"memory.l1.latency", "l1.latency"},
        {"memory.l1.missPenalty", "l1.miss_penalty"},
        {"memory.texture.size", "texture.size"},
        {"memory.texture.lineSize", "texture.line_size"},
        {"memory.texture.latency", "texture.latency"},
        {"memory.constant.l1.size", "constant_l1.size"},
        {"memory.constant.l1.fetchGranularity", "constant_l1.fetch_granularity"},
        {"memory.l2.size", "l2.size"},
        {"memory.l2.lineSize", "l2.line_size"},
        {"memory.l2.segmentSize", "l2.size / l2.partitions"},
        {"memory.l2.missPenalty", "l2.miss_penalty"},
        {"memory.l2.readBandwidth", "l2.read_bandwidth", 1},
        {"memory.l2.writeBandwidth", "l2.write_bandwidth", 1},
        {"memory.main.latency", "device.latency"},
        {"memory.main.memoryClockRate", "gpu.memory_clock_max"},
        {"memory.main.readBandwidth", "device.read_bandwidth", 1},
        {"memory.main.writeBandwidth", "device.write_bandwidth", 1},
        {"memory.main.totalGlobalMem", "device.size"},
        {"memory.shared.latency", "shared.latency"}}},
      {"MT4G's CSV",
       mt4g_csv_fields,
       {{"COMPUTE_RESOURCE_INFORMATION.Number_of_streaming_multiprocessors", "compute.sm_count"},
        {"COMPUTE_RESOURCE_INFORMATION.Number_of_cores_in_GPU", "compute.sm_count * compute.cores_per_sm"},
        {"ADDITIONAL_INFORMATION.Memory_Clock_Frequency", "gpu.memory_clock_max", kOfGhz},
        {"ADDITIONAL_INFORMATION.GPU_Clock_Rate", "gpu.sm_clock_max", kOfGhz},
        {"L1_DATA_CACHE.Size", "l1.size", kOfKib},
        {"L1_DATA_CACHE.Cache_Line_Size", "l1.line_size"},
        {"L1_DATA_CACHE.Load_Latency", "l1.latency", kWhole},
        {"L1_DATA_CACHE.Load_Latency ns", "l1.latency:mean_ns", kWhole},
        {"L2_DATA_CACHE.Size", "l2.size / l2.partitions", kOfMib},
        {"L2_DATA_CACHE.Cache_Line_Size", "l2.line_size"},
        {"L2_DATA_CACHE.Load_Latency", "l2.latency", kWhole},
        {"TEXTURE_CACHE.Size", "texture.size", kOfKib},
        {"TEXTURE_CACHE.Load_Latency", "texture.latency", kWhole},
        {"CONSTANT_L1_CACHE.Size", "constant_l1.size", kOfKib},
        {"CONST_L1_5_CACHE.Size", "constant_l15.size", kOfKib},
        {"MAIN_MEMORY.Size", "device.size", kOfGib},
        {"MAIN_MEMORY.Load_Latency", "device.latency", kWhole},
        {"SHARED_MEMORY.Size", "shared.size", kOfKib},
        {"SHARED_MEMORY.Load_Latency", "shared.latency", kWhole}}},
      {"Accel-Sim",
       accel_sim_fields,
       {{"-gpgpu_n_clusters", "compute.sm_count"},
        {"-gpgpu_shader_registers", "compute.registers_per_sm"},
        {"-gpgpu_shader_cta", "compute.max_blocks_per_sm"},
        {"-gpgpu_shmem_size", "compute.shared_memory_per_sm"},
        {"-gpgpu_shmem_per_block", "compute.shared_memory_per_block"},
        {"-gpgpu_shmem_num_banks", "shared.banks"},
        {"-gpgpu_l1_latency", "l1.latency", kWhole},
        {"-gpgpu_smem_latency", "shared.latency", kWhole},
        {"-gpgpu_l2_rop_latency", "l2.latency - l1.latency", kWhole},
        {"-dram_latency", "device.latency - l2.latency", kWhole}}},
      {"XLA",
       xla_fields,
       {{"core_count", "compute.sm_count"},
        {"fpus_per_core", "compute.cores_per_sm"},
        {"threads_per_warp", "compute.warp_size"},
        {"shared_memory_per_core", "compute.shared_memory_per_sm"},
        {"registers_per_core_limit", "compute.registers_per_sm"},
        {"device_memory_size", "device.size"},
        {"l2_cache_size", "l2.size"},
        {"memory_bandwidth", "device.read_bandwidth"},
        {"clock_rate_ghz", "gpu.sm_clock_max", 0.01}}},
      {"Roofline",
       roofline_fields,
       {{"HBMBw", "device.read_bandwidth", kGiga},
        {"HBMBwLow", "device.read_bandwidth:low", kGiga},
        {"hbmBwHigh", "device.read_bandwidth:high", kGiga},
        {"L2Bw", "l2.read_bandwidth", kGiga},
        {"L2BwLow", "l2.read_bandwidth:low", kGiga},
        {"L2BwHigh", "l2.read_bandwidth:high", kGiga},
        {"L1Bw", "l1.read_bandwidth", kGiga},
        {"L1BwLow", "l1.read_bandwidth:low", kGiga},
        {"L1BwHigh", "l1.read_bandwidth:high", kGiga},
        {"LDSBw", "shared.read_bandwidth", kGiga},
        {"LDSBwHigh", "shared.read_bandwidth:high", kGiga}}},
      {"hwloc",
       hwloc_fields,
       {{"L1SizeBytes", "l1.size"},
        {"L1LineSizeBytes", "l1.line_size"},
        {"L1FetchGranularityBytes", "l1.fetch_granularity"},
        {"L1LatencyCycles", "l1.latency"},
        {"L1ReadBandwidthBytesPerSecond", "l1.read_bandwidth"},
        {"L1WriteBandwidthBytesPerSecond", "l1.write_bandwidth"},
        {"L1MissPenaltyCycles", "l1.miss_penalty"},
        {"L1Ways", "l1.ways"},
        {"L2Partitions", "l2.partitions"},
        {"TextureSizeBytes", "texture.size"},
        {"ConstantL1LatencyCycles", "constant_l1.latency"},
        {"DeviceReadBandwidthBytesPerSecond", "device.read_bandwidth"},
        {"SharedLatencyCycles", "shared.latency"},
        {"L1Cache cache_size", "l1.size"},
        {"L1Cache cache_linesize", "l1.line_size"},
        {"L1Cache cache_associativity", "l1.ways"},
        {"L2Cache cache_linesize", "l2.line_size"},
        {"L2Cache cache_associativity", "l2.ways"},
        {"NUMANode local_memory", "device.size"}}}};
  return kFormats;
}

TEST(ExportedFields, AreTheValuesOfTheReport) {
  for (const char* report : {"h200", "gt200"}) {
    const Topology topology = saved_report(report);
    for (const ExportFields& format : exported_formats()) {
      FieldNumbers fields;
      try {
        fields = format.read(topology);
      } catch (const FormatError&) {
        EXPECT_STREQ(report, "gt200") << format.name;  // the report of an H200 has all that each format needs
        continue;
      }
      for (const FieldOrigin& origin : format.origins) {
        SCOPED_TRACE(fmt::format("{} of {}: {}", format.name, report, origin.field));
        const std::optional<double> expected = number_of_report(topology, origin.report);
        if (!expected) {
          // MT4G's CSV has a place for every value and writes 0 for a missing one.
          EXPECT_TRUE(!fields.contains(origin.field) || fields.at(origin.field) == 0) << fields.at(origin.field);
          continue;
        }
        // Some formats omit a value if another one is missing; the report of an H200 has both.
        if (std::string(report) != "h200" && !fields.contains(origin.field)) continue;
        EXPECT_TRUE(fields.contains(origin.field));
        if (!fields.contains(origin.field)) continue;
        EXPECT_NEAR(fields.at(origin.field), *expected, origin.rounding + 1e-9 * std::abs(*expected));
      }
    }
  }
}

Attribute* attribute_at(Topology& topology, const std::string& path) {
  const std::string group = path.substr(0, path.find('.'));
  const std::string name = path.substr(path.find('.') + 1);
  AttributeMap* attributes = group == "compute" ? &topology.compute : group == "gpu" ? &topology.device : nullptr;
  for (MemoryElement& element : topology.memory) {
    if (element.id == group) attributes = &element.attributes;
  }
  for (auto& [id, attribute] : *attributes) {
    if (id == name) return &attribute;
  }
  return nullptr;
}

// A value that was not measured makes no number: its field is left out, or the format says that it needs it.
TEST(ExportedFields, AreLeftOutWithTheirValues) {
  const Topology whole = saved_report("h200");
  for (const ExportFields& format : exported_formats()) {
    const FieldNumbers before = format.read(whole);
    for (const FieldOrigin& origin : format.origins) {
      const std::string path = std::string(origin.report).substr(0, std::string(origin.report).find_first_of(" :"));
      SCOPED_TRACE(fmt::format("{} without {}", format.name, path));
      Topology topology = whole;
      Attribute* attribute = attribute_at(topology, path);
      if (attribute == nullptr || !before.contains(origin.field)) continue;
      *attribute = unavailable(Reason::kTimedOut, "the budget of 60 s ran out");
      try {
        const FieldNumbers fields = format.read(topology);
        EXPECT_FALSE(fields.contains(origin.field)) << origin.field << " is " << fields.at(origin.field);
      } catch (const FormatError& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("timed out"));
      }
    }
  }
}

}  // namespace
}  // namespace gputopo
