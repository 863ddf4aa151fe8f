// Invalid machine files: the message names the field and what is allowed.
#include "device/sim/machine_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gputopo/device.h"
#include "gputopo/report.h"
#include "support/command.h"

namespace gputopo::sim {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

json good_machine() {
  return json::parse(R"({
    "machine_version": 1,
    "info": {"vendor": "NVIDIA", "name": "test", "sm_count": 4, "carve_outs_bytes": [0, 8192]},
    "caches": [
      {"id": "l1", "size_bytes": {"value": 16384, "source": "a paper", "guess": true}, "unified": true,
       "line_bytes": 128, "sector_bytes": 32, "ways": 4},
      {"id": "l2", "size_bytes": 1048576, "line_bytes": 128, "sector_bytes": 32, "ways": 16, "scope": "gpu", "partitions": 2}],
    "spaces": {
      "global": {"path": [{"cache": "l1", "latency_cycles": 30}, {"cache": "l2", "latency_cycles": 200, "far_latency_cycles": 300}],
                 "memory_latency_cycles": 500},
      "shared": {"memory_latency_cycles": 25}},
    "tlbs": [{"page_bytes": 2097152, "entries": 16, "miss_cycles": 90}],
    "texture_tlbs": [{"page_bytes": 2097152, "entries": 16, "miss_cycles": 90}],
    "bandwidths": {"memory": {"read_bytes_per_second": 1e12}},
    "noise": {"outlier_probability": 0.5}
  })");
}

std::string message_for(const std::string& text) {
  try {
    static_cast<void>(parse_machine(text));
    return "accepted";
  } catch (const FormatError& error) {
    return error.what();
  }
}

// The message for the good machine with one value replaced.
std::string message_with(const std::string& pointer, const json& value) {
  json machine = good_machine();
  machine[json::json_pointer(pointer)] = value;
  return message_for(machine.dump());
}

TEST(MachineFileFaults, TheGoodOneIsAccepted) { EXPECT_EQ(message_for(good_machine().dump()), "accepted"); }

TEST(MachineFileFaults, AValueMayStandBesideItsSource) {
  EXPECT_EQ(parse_machine(good_machine().dump()).caches[0].size_bytes, 16384u);
  EXPECT_THAT(message_with("/caches/0/size_bytes", {{"value", 16384}}),
              HasSubstr("caches[0].size_bytes: a \"value\" requires a \"source\""));
  EXPECT_THAT(message_with("/caches/0/size_bytes", {{"value", 16384}, {"source", "x"}, {"gess", true}}),
              HasSubstr("caches[0].size_bytes.gess"));
}

struct Fault {
  std::string pointer;
  json value;
  std::string field;    // the message must name it
  std::string problem;  // the message must contain it
};

class MachineFault : public testing::TestWithParam<Fault> {};

TEST_P(MachineFault, NamesTheField) {
  const Fault& fault = GetParam();
  EXPECT_THAT(message_with(fault.pointer, fault.value),
              AllOf(HasSubstr(fault.field + ":"), HasSubstr(fault.problem), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    All, MachineFault,
    testing::Values(
        Fault{"/machine_version", 2, "machine_version", "2 is not 1"},
        Fault{"/machine_version", "1", "machine_version", "not a whole number"},
        Fault{"/info/memory_bytes", 1, "info.memory_bytes", "not larger than the size of cache"},
        Fault{"/info/max_threads_per_block", 0, "info.max_threads_per_block", "less than the warp size of 32"},
        Fault{"/info/memory_bus_bits", 0, "info.memory_bus_bits", "not greater than 0"},
        Fault{"/timer_cycles", 1e12, "timer_cycles", "not between 0 and 1000"},
        Fault{"/colour", "green", "colour", "unknown field; the fields here are machine_version, info"},
        Fault{"/caches/0/line_byte", 128, "caches[0].line_byte", "unknown field"},
        Fault{"/caches/0/line_bytes", 48, "caches[0].line_bytes", "48 is not a power of two"},
        Fault{"/caches/0/line_bytes", -1, "caches[0].line_bytes", "whole number"},
        Fault{"/caches/0/line_bytes", 1e30, "caches[0].line_bytes", "whole number"},
        Fault{"/caches/0/sector_bytes", 256, "caches[0].sector_bytes", "not between 16 and 128"},
        Fault{"/caches/0/size_bytes", 0, "caches[0].size_bytes", "whole number of lines"},
        Fault{"/caches/0/size_bytes", 16400, "caches[0].size_bytes", "whole number of lines"},
        Fault{"/caches/0/size_bytes", 1ull << 50, "caches[0].size_bytes", "is more than"},
        Fault{"/caches/0/size_bytes", 8192, "caches[0] with a carve-out of 8192 bytes", "cannot hold one line"},
        Fault{"/caches/0/ways", 5, "caches[0].ways", "cannot be divided into sets of 5 ways"},
        Fault{"/caches/0/replacement", "mru", "caches[0].replacement", "lru, tree_plru, random, fifo"},
        Fault{"/caches/0/index", 3, "caches[0].index", "modulo, xor_fold, mixed"},
        Fault{"/caches/0/unified", 1, "caches[0].unified", "true or false"},
        Fault{"/caches/0/instances", 0, "caches[0].instances", "between 1 and 64"},
        Fault{"/caches/0/id", "memory", "caches[0].id", "reserved"},
        Fault{"/caches/1/id", "l1", "caches[1].id", "used twice"},
        Fault{"/caches/1/instances", 2, "caches[1].instances", "must be 1 for scope gpu"},
        Fault{"/caches/1/partitions", 3, "caches[1].partitions", "do not divide"},
        Fault{"/caches/1/set_ways", {1, 2}, "caches[1].set_ways", "the sets hold 3 lines"},
        Fault{"/caches", json::object(), "caches", "is not a list"},
        Fault{"/spaces", json::object(), "spaces", "must not be empty"},
        Fault{"/spaces/globl", json::object(), "spaces.globl",
              "global, global_bypass_l1, read_only, texture, constant, shared"},
        Fault{"/spaces/global/path/0/cache", "l3", "spaces.global.path[0].cache", "not the id of a cache"},
        Fault{"/spaces/global/path/0/latency_cycles", 0, "spaces.global.path[0].latency_cycles", "not greater than 0"},
        Fault{"/spaces/global/path/0/latency_cycles", 250, "spaces.global.path[1].latency_cycles",
              "less than the latency of the previous cache of the path"},
        Fault{"/spaces/global/path/0/far_latency_cycles", 40, "spaces.global.path[0].far_latency_cycles",
              "one partition"},
        Fault{"/spaces/global/path/1/far_latency_cycles", 0, "spaces.global.path[1].far_latency_cycles",
              "near latency"},
        Fault{"/spaces/global/memory_latency_cycles", 100, "spaces.global.memory_latency_cycles",
              "less than the latency of the last cache"},
        Fault{"/spaces/shared/path", {{{"cache", "l1"}, {"latency_cycles", 3}}}, "spaces.shared.path", "must be empty"},
        Fault{"/tlbs/0/page_bytes", 3000, "tlbs[0].page_bytes", "power of two"},
        Fault{"/tlbs/0/ways", 5, "tlbs[0].ways", "cannot be divided into sets"},
        Fault{"/tlbs/0/set_ways", {16, 0}, "tlbs[0].set_ways", "at least one way"},
        Fault{"/tlbs/0/miss_cycles", 1e300, "tlbs[0].miss_cycles", "is more than"},
        Fault{"/texture_tlbs/0/ways", 5, "texture_tlbs[0].ways", "cannot be divided into sets"},
        Fault{"/caches/1/partitions", 4096, "caches[1].partitions", "is more than 64"},
        Fault{"/info/l2_bytes", 1ull << 63, "info.l2_bytes", "is more than"},
        Fault{"/info/sm_count", {{"deep", {1, 2}}}, "info.sm_count", "an object is not a whole number"},
        Fault{"/info/name", std::vector<int>(100, 1), "info.name", "a list is not a string"},
        Fault{"/bandwidths/l7", {{"read_bytes_per_second", 1}}, "bandwidths.l7", "not the id of a cache"},
        Fault{"/bandwidths/memory/read_bytes_per_second", 0, "bandwidths.memory.read_bytes_per_second",
              "not greater than 0"},
        Fault{"/noise/outlier_probability", 2, "noise.outlier_probability", "between 0 and 1"},
        Fault{"/noise/jitter_cycles", -1, "noise.jitter_cycles", "negative or not finite"},
        Fault{"/timer_cycles", -1, "timer_cycles", "not between 0 and 1000"},
        Fault{"/info/sm_count", 0, "info.sm_count", "between 1 and"},
        Fault{"/info/carve_outs_bytes", {8192, 0}, "info.carve_outs_bytes", "ascend"},
        Fault{"/info/name", "", "info.name", "must not be empty"},
        Fault{"/info/spaces", json::array(), "info.spaces", "unknown field"},
        Fault{"/info/xcd_count", 3, "info.xcd_count", "does not divide the 4 SMs evenly"},
        Fault{"/info/xcd_count", 0, "info.xcd_count", "does not divide"},
        Fault{"/info/physical_sm_ids", {1, 2, 3}, "info.physical_sm_ids", "has 3 entries, but the GPU has"},
        Fault{"/info/physical_sm_ids", {1, 2, 2, 3}, "info.physical_sm_ids", "ascend"},
        Fault{"/caches/0/scope", "group", "caches[0].scope", "'group' requires sm_groups"},
        Fault{"/caches/0/scope", "xcd", "caches[0].scope", "xcd_count"},
        Fault{"/sm_groups", {{0, 1}, {2}}, "sm_groups", "names 3 of the 4 SMs"},
        Fault{"/sm_groups", {{0, 1}, {1, 2, 3}}, "sm_groups[1]", "SM 1 is listed twice"},
        Fault{"/sm_groups", {{0, 1, 2, 4}}, "sm_groups[0]", "there is no SM 4"}));

TEST(MachineFileFaults, GroupsStayOnADie) {
  json machine = good_machine();
  machine["info"]["xcd_count"] = 2;
  machine["sm_groups"] = {{0, 1}, {2, 3}};
  EXPECT_EQ(message_for(machine.dump()), "accepted");
  machine["sm_groups"] = {{0}, {1, 2}, {3}};
  EXPECT_THAT(message_for(machine.dump()), HasSubstr("sm_groups[1]: SMs 1 and 2 are on different dies"));
}

TEST(MachineFileFaults, ClustersNeedGroupsAndWhatTheyDeliver) {
  const json clusters = {{"max_size", 4},
                         {"latency_cycles", 180},
                         {"bandwidths", {{{"cluster_size", 2}, {"read_bytes_per_second", 1e12}}}}};
  EXPECT_THAT(message_with("/clusters", clusters), HasSubstr("clusters: requires sm_groups"));
  json machine = good_machine();
  machine["sm_groups"] = {{0, 1}, {2, 3}};
  machine["clusters"] = clusters;
  EXPECT_EQ(message_for(machine.dump()), "accepted");
  const auto with = [&](const std::string& pointer, const json& value) {
    json changed = machine;
    changed[json::json_pointer(pointer)] = value;
    return message_for(changed.dump());
  };
  EXPECT_THAT(with("/clusters/max_size", 17), HasSubstr("clusters.max_size: 17 is not between 1 and 16"));
  EXPECT_THAT(with("/clusters/latency_cycles", 0), HasSubstr("clusters.latency_cycles"));
  EXPECT_THAT(with("/clusters/spread_cycles", 180), HasSubstr("clusters.spread_cycles"));
  EXPECT_THAT(with("/clusters/bandwidths", json::array()), HasSubstr("clusters.bandwidths: must not be empty"));
  EXPECT_THAT(with("/clusters/bandwidths/1", {{"cluster_size", 2}, {"read_bytes_per_second", 1e12}}),
              HasSubstr("clusters.bandwidths[1].cluster_size: must be larger"));
  const json bulk = {{"overhead_cycles", 170}, {"issue_cycles", 40}, {"bytes_per_cycle", 64}};
  EXPECT_THAT(with("/bulk_copies", bulk), HasSubstr("bulk_copies: requires the space 'global_bypass_l1'"));
}

TEST(MachineFileFaults, WhatIsMissingIsNamed) {
  json machine = good_machine();
  machine["info"].erase("sm_count");
  EXPECT_THAT(message_for(machine.dump()), HasSubstr("info.sm_count: is missing"));
}

TEST(MachineFileFaults, WhatIsNoJsonSaysWhere) {
  EXPECT_THAT(message_for("{\n  \"machine_version\": 1,\n  oops\n}"), HasSubstr("invalid JSON at line 3, column 3"));
  EXPECT_THAT(message_for(""), HasSubstr("invalid JSON"));
  EXPECT_THAT(message_for("[]"), HasSubstr("machine file: is not an object"));
}

TEST(MachineFileFaults, WhatIsTooDeepOrTooLargeSaysWhere) {
  std::string deep = R"({"machine_version": 1, "info": )";
  for (int i = 0; i < 1'000'000; ++i) deep += "[";
  EXPECT_THAT(message_for(deep), AllOf(HasSubstr("machine file: 'info[0][0]"), HasSubstr("more than 64 nested lists")));
  EXPECT_THAT(message_for("{\"machine_version\": 1,\n \"timer_cycles\": 1e600}"),
              HasSubstr("machine file: a number that is too large at line 2, column"));
  EXPECT_THAT(message_for(R"({"machine_version": 1, "machine_version": 1})"), HasSubstr("'machine_version' twice"));
}

// A message is one short line, whatever the file holds.
TEST(MachineFileFaults, LongNamesAreCutShort) {
  const std::string name(100'000, '<');
  const json level = {{"read_bytes_per_second", 1}};
  const json pipe = {{"lanes_per_cycle", 0}};
  const json operation = {{"pipe", name}, {"latency_cycles", 4}, {"lanes_per_cycle", 1}};
  const std::pair<std::string, json> faults[] = {{"/caches/0/id", name},
                                                 {"/spaces/global/path/0/cache", name},
                                                 {"/spaces/" + name, json::object()},
                                                 {"/bandwidths/" + name, level},
                                                 {"/compute/pipes/" + name, pipe},
                                                 {"/compute/operations/" + name, operation},
                                                 {"/compute/operations/fma.f32", operation},
                                                 {"/" + name, 1}};
  for (const auto& [pointer, value] : faults) {
    const std::string message = message_with(pointer, value);
    EXPECT_NE(message, "accepted") << pointer.substr(0, 40);
    EXPECT_LT(message.size(), 2000U) << pointer.substr(0, 40) << " " << message.substr(0, 200);
  }
}

TEST(MachineFileFaults, TheFileIsNamedToo) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("machine.json");
  write_file(path, "{}");
  try {
    static_cast<void>(open_device("sim:" + path, 1));
    FAIL() << "no exception";
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), HasSubstr(path + ": machine_version: is missing"));
  }
  EXPECT_THROW(static_cast<void>(open_device("sim:" + folder.file("other.json"), 1)), FileError);
}

// ---- Names of devices ----

std::string usage_for(const std::string& spec) {
  try {
    static_cast<void>(open_device(spec, 1));
    return "opened";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(DeviceNames, AnUnknownFormListsTheValidOnes) {
  for (const std::string spec : {"h200", "rocm:0", "sim:", ":", "replay:"}) {
    EXPECT_THAT(usage_for(spec), AllOf(HasSubstr("'" + spec + "'"), HasSubstr("cuda:N"), HasSubstr("sim:NAME"),
                                       HasSubstr("sim:FILE.json"), HasSubstr("replay:PATH")));
  }
}

TEST(DeviceNames, AnUnknownMachineListsAllNearestFirst) {
  EXPECT_THAT(usage_for("sim:h20"), AllOf(HasSubstr("use one of h200,"), HasSubstr("v100"), HasSubstr("gt200")));
}

TEST(DeviceNames, AGpuHasANumber) {
  for (const std::string spec : {"cuda:x", "cuda:-1", "cuda:0x", "cuda:99999999999"}) {
    EXPECT_THAT(usage_for(spec), HasSubstr("is not a GPU number"));
  }
}

TEST(DeviceNames, EverySimulatedMachineIsListedAndOpens) {
  std::string problem;
  std::size_t simulated = 0;
  for (const DeviceListing& listing : list_devices(problem)) {
    if (!listing.spec.starts_with("sim:")) continue;
    ++simulated;
    const auto device = open_device(listing.spec, 1);
    EXPECT_EQ(device->info().name, listing.name);
    EXPECT_TRUE(device->info().simulated);
    EXPECT_THAT(listing.detail, HasSubstr("simulated"));
  }
  EXPECT_EQ(simulated, builtin_machine_names().size());
  EXPECT_GE(simulated, 1u);
}

}  // namespace
}  // namespace gputopo::sim
