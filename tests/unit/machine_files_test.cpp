// The machine files in the binary: each parses, names the sources of its values, and describes a consistent GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "device/sim/cache/index.h"
#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/memory/hierarchy.h"
#include "device/sim/sim_device.h"
#include "gputopo/device.h"
#include "gputopo/program.h"

namespace gputopo::sim {
namespace {

using nlohmann::json;

std::string text_of(const std::string& name) { return builtin_machine(name).value_or(""); }

// The value itself, with or without its source.
const json& value_of(const json& node) { return node.is_object() && node.contains("value") ? node.at("value") : node; }

bool has_source(const json& node) {
  return node.is_object() && node.contains("value") && node.contains("source") && node.at("source").is_string() &&
         !node.at("source").get<std::string>().empty();
}

// Finds values that lack a source or have an invalid mark. Names, lists of SMs and the keys of values need no source.
void find_unsourced(const json& node, const std::string& place, std::vector<std::string>& found) {
  const bool needs_none = place.ends_with("/machine_version") || place.ends_with("/cluster_size");
  if (node.is_number() && !needs_none) found.push_back(place);
  if (node.is_object() && node.contains("value")) {
    const bool marked_well = !node.contains("guess") || node.at("guess") == true;
    if (!has_source(node) || !marked_well) found.push_back(place);
    return;
  }
  if (!node.is_structured()) return;
  for (const auto& item : node.items()) find_unsourced(item.value(), place + "/" + item.key(), found);
}

class MachineFile : public testing::TestWithParam<std::string> {
 protected:
  const std::string text_ = text_of(GetParam());
  const MachineSpec spec_ = parse_machine(text_);
  const json document_ = json::parse(text_);
};

TEST_P(MachineFile, SaysWhatItDescribes) {
  EXPECT_THAT(spec_.info.vendor, testing::AnyOf("NVIDIA", "AMD"));
  EXPECT_FALSE(spec_.info.name.empty());
  EXPECT_FALSE(spec_.info.architecture.empty());
  EXPECT_EQ(spec_.info.compute_capability_major.has_value(), spec_.info.vendor == "NVIDIA");
  EXPECT_TRUE(spec_.info.sm_clock_max_mhz.has_value());
  EXPECT_TRUE(spec_.info.memory_bytes.has_value());
  EXPECT_FALSE(document_.at("comment").get<std::string>().empty());
}

TEST_P(MachineFile, NamesASourceOfEachCacheValue) {
  for (const json& cache : document_.at("caches")) {
    for (const char* field : {"size_bytes", "line_bytes", "sector_bytes"}) {
      EXPECT_TRUE(has_source(cache.at(field))) << value_of(cache.at("id")) << "." << field;
    }
    EXPECT_TRUE(has_source(cache.contains("set_ways") ? cache.at("set_ways") : cache.at("ways")))
        << value_of(cache.at("id"));
  }
}

TEST_P(MachineFile, NamesASourceOfEachLatency) {
  for (const auto& space : document_.at("spaces").items()) {
    EXPECT_TRUE(has_source(space.value().at("memory_latency_cycles"))) << space.key();
    for (const json& stop : space.value().at("path")) {
      EXPECT_TRUE(has_source(stop.at("latency_cycles"))) << space.key() << ": " << value_of(stop.at("cache"));
      EXPECT_TRUE(!stop.contains("far_latency_cycles") || has_source(stop.at("far_latency_cycles")))
          << space.key() << ": " << value_of(stop.at("cache"));
    }
  }
}

TEST_P(MachineFile, LeavesNoValueWithoutSource) {
  std::vector<std::string> found;
  find_unsourced(document_, "", found);
  EXPECT_THAT(found, testing::IsEmpty());
}

TEST_P(MachineFile, GetsSlowerWithDistance) {
  for (const auto& [space, description] : spec_.spaces) {
    double nearer_cycles = 0;
    for (const PathStop& stop : description.path) {
      EXPECT_GT(stop.latency_cycles, nearer_cycles) << to_string(space) << ": " << stop.cache;
      nearer_cycles = std::max(stop.latency_cycles, stop.far_latency_cycles);
    }
    EXPECT_GT(description.memory_latency_cycles, nearer_cycles) << to_string(space);
  }
}

// The caches of data loads; others hold only instructions.
std::set<std::string> data_caches(const MachineSpec& spec) {
  std::set<std::string> caches;
  for (const auto& [space, description] : spec.spaces) {
    for (const PathStop& stop : description.path) caches.insert(stop.cache);
  }
  return caches;
}

TEST_P(MachineFile, UsesEachCacheItDescribes) {
  std::set<std::string> used = data_caches(spec_);
  if (spec_.code) {
    for (const CodeStop& stop : spec_.code->path) used.insert(stop.cache);
    for (const OperandStop& stop : spec_.code->operand_path) used.insert(stop.cache);
  }
  for (const CacheSpec& cache : spec_.caches) EXPECT_TRUE(used.contains(cache.id)) << cache.id;
}

// Whether a carve-out takes ways or sets, the remaining sets are equal.
TEST_P(MachineFile, LeavesEqualSetsBesideEachCarveOut) {
  for (const CacheSpec& cache : spec_.caches) {
    if (!cache.unified) continue;
    for (const std::uint64_t carve_out_bytes : spec_.info.carve_outs_bytes) {
      EXPECT_LT(carve_out_bytes, cache.size_bytes) << cache.id;
      const std::vector<std::uint32_t> ways = geometry_of(cache, usable_bytes(cache, carve_out_bytes)).set_ways;
      EXPECT_EQ(std::ranges::min(ways), std::ranges::max(ways))
          << cache.id << " with a carve-out of " << carve_out_bytes;
    }
  }
}

TEST_P(MachineFile, HasABandwidthOfEachLevel) {
  std::vector<std::string> levels = {kSharedLevel, kMemoryLevel};
  MachineSpec streamed = spec_;
  streamed.spaces.erase(Space::kLocal);  // only chases read it
  for (const std::string& id : data_caches(streamed)) levels.push_back(id);
  for (const std::string& level : levels) {
    ASSERT_TRUE(spec_.bandwidths.contains(level)) << level;
    EXPECT_GT(spec_.bandwidths.at(level).read_bytes_per_second, 0) << level;
  }
}

TEST_P(MachineFile, AnswersASmallChaseAtTheNearestLatency) {
  const std::unique_ptr<Device> device = make_sim_device(spec_, 1);
  EXPECT_TRUE(device->info().simulated);
  for (const auto& [space, description] : spec_.spaces) {
    ChaseProgram program;
    const std::uint64_t stride = std::max<std::uint64_t>(64, least_stride_bytes(space));
    program.arrays.push_back({.space = space, .bytes = 16 * stride, .stride_bytes = stride});
    program.actors.push_back({});
    program.steps.push_back({.kind = StepKind::kWarm, .loads = 16});
    program.steps.push_back({.kind = StepKind::kTimed, .loads = 255});
    const Program programs[] = {program};
    const std::vector<ProgramResult> results = device->run(programs);
    std::vector<std::uint32_t> latencies = std::get<ChaseResult>(results.at(0).data).steps.at(1).latencies;
    ASSERT_EQ(latencies.size(), 255u) << to_string(space);
    std::nth_element(latencies.begin(), latencies.begin() + 127, latencies.end());
    const double nearest_cycles =
        description.path.empty() ? description.memory_latency_cycles : description.path.front().latency_cycles;
    EXPECT_NEAR(latencies[127], nearest_cycles + spec_.timer_cycles, 2) << to_string(space);
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, MachineFile, testing::ValuesIn(builtin_machine_names()), [](const auto& machine) {
  std::string name = machine.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(MachineFiles, AreTheOnesPromised) {
  EXPECT_THAT(builtin_machine_names(),
              testing::ElementsAre("a100", "b200", "c2070", "gt200", "gtx560ti", "gtx780", "gtx840m", "h100-sxm",
                                   "h200", "k20c", "mi100", "mi210", "mi250x", "mi300x", "p6000", "rtx2080ti",
                                   "rtx4090", "t1000", "v100"));
}

TEST(MachineFiles, AreAllInTheBinary) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(GPUTOPO_SOURCE_DIR) + "/machines")) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  EXPECT_THAT(builtin_machine_names(), testing::UnorderedElementsAreArray(names));
}

TEST(MachineFiles, AreListedAsTheyAre) {
  for (const std::string& name : builtin_machine_names()) {
    const DeviceInfo listed = builtin_machine_info(name).value();
    const DeviceInfo info = parse_machine(text_of(name)).info;
    EXPECT_EQ(listed.name, info.name);
    EXPECT_EQ(listed.vendor, info.vendor);
    EXPECT_EQ(listed.memory_bytes, info.memory_bytes);
    EXPECT_EQ(listed.compute_capability_major, info.compute_capability_major);
    EXPECT_EQ(listed.compute_capability_minor, info.compute_capability_minor);
    EXPECT_EQ(listed.sm_count, info.sm_count);
    EXPECT_EQ(listed.physical_sm_ids, info.physical_sm_ids);
  }
  EXPECT_FALSE(builtin_machine_info("no-such-gpu").has_value());
}

TEST(MachineFiles, StayUnderTheBandwidthOfTheirMemoryBus) {
  int with_bus = 0;
  for (const std::string& name : builtin_machine_names()) {
    const MachineSpec spec = parse_machine(text_of(name));
    if (!spec.info.memory_bus_bits || !spec.info.memory_clock_max_mhz) continue;
    ++with_bus;
    const double theoretical = *spec.info.memory_bus_bits / 8.0 * 2 * *spec.info.memory_clock_max_mhz * 1e6;
    const BandwidthSpec& memory = spec.bandwidths.at(kMemoryLevel);
    EXPECT_LT(memory.read_bytes_per_second, theoretical) << name;
    EXPECT_LT(memory.write_bytes_per_second, theoretical) << name;
    EXPECT_GT(memory.read_bytes_per_second, 0.5 * theoretical) << name;
  }
  EXPECT_GE(with_bus, 10);
}

TEST(MachineFiles, DescribeDifferentGpus) {
  std::set<std::string> gpus;
  for (const std::string& name : builtin_machine_names()) {
    EXPECT_TRUE(gpus.insert(parse_machine(text_of(name)).info.name).second) << name;
  }
}

TEST(MachineFiles, HaveTwoL2PartitionsFromTheA100OnInServers) {
  std::vector<std::string> partitioned;
  for (const std::string& name : builtin_machine_names()) {
    for (const CacheSpec& cache : parse_machine(text_of(name)).caches) {
      if (cache.partitions == 2) partitioned.push_back(name);
    }
  }
  EXPECT_THAT(partitioned, testing::ElementsAre("a100", "b200", "h100-sxm", "h200"));
}

TEST(MachineFiles, AreNotFoundUnderAnotherName) { EXPECT_FALSE(builtin_machine("no-such-gpu").has_value()); }

}  // namespace
}  // namespace gputopo::sim
