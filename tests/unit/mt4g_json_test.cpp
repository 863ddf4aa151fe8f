// MT4G's JSON, as sys-sage reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "gputopo/discover.h"
#include "gputopo/export.h"
#include "gputopo/report.h"
#include "support/message_of.h"
#include "support/sample_topology.h"
#include "support/saved_report.h"
#include "support/sys_sage_reader.h"

namespace gputopo {
namespace {

using test::saved_report;
using test::SysSageReader;
using test::SysSageTree;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

nlohmann::json mt4g_of(const Topology& topology) { return nlohmann::json::parse(to_mt4g_json(topology)); }

SysSageTree tree_of(const nlohmann::json& document) { return SysSageReader(document).read(); }

TEST(Mt4gJson, SysSageBuildsAnH200) {
  const SysSageTree tree = tree_of(mt4g_of(saved_report("h200")));
  EXPECT_EQ(tree.sms * tree.cores, 16896u);
  EXPECT_EQ(tree.l2, 1u);
  EXPECT_THAT(tree.of_an_sm, ElementsAre("Constant L1.5", "Constant L1", "Shared Memory", "L1+Texture+Read Only"));
}

TEST(Mt4gJson, SysSageBuildsAnMi300x) {
  const SysSageTree tree = tree_of(mt4g_of(saved_report("mi300x")));
  EXPECT_EQ(tree.sms, 304u);
  EXPECT_EQ(tree.l3, 1u);
  EXPECT_EQ(tree.l2, 8u);
  EXPECT_EQ(tree.scalar, 160u);
  EXPECT_THAT(tree.of_an_sm, ElementsAre("Constant", "Shared Memory", "L1"));
}

TEST(Mt4gJson, SysSageBuildsAGt200) {
  EXPECT_THAT(tree_of(mt4g_of(saved_report("gt200"))).of_an_sm,
              ElementsAre("Constant L1.5", "Constant L1", "Shared Memory", "L1", "Texture"));
}

TEST(Mt4gJson, UnitsAreThoseOfMt4g) {
  const nlohmann::json document = mt4g_of(saved_report("h200"));
  EXPECT_EQ(document["general"]["clockRate"], (nlohmann::json{{"value", 1980000}, {"unit", "kHz"}}));
  const nlohmann::json& memory = document["memory"];
  EXPECT_EQ(memory["l2"]["segmentSize"]["size"], 31457280);
  EXPECT_NEAR(memory["l2"]["readBandwidth"]["value"].get<double>(), 9127937770998.0 / (1 << 30), 1e-6);
  EXPECT_EQ(memory["l2"]["readBandwidth"]["unit"], "GiB/s");
  EXPECT_EQ(memory["l1"]["latency"]["p50"], 31.7);
  EXPECT_EQ(memory["shared"]["latency"]["p95"], memory["shared"]["latency"]["mean"]);  // without a distribution
  EXPECT_EQ(memory["constant"]["l1"].count("sharedWith"), 0u);
}

TEST(Mt4gJson, WhatIsMissingIsLeftOut) {
  Topology topology = saved_report("h200");
  const auto lose = [&](std::size_t element, const char* attribute) {
    get_or_add(topology.memory[element].attributes, attribute) = unavailable(Reason::kTimedOut, "no time");
  };
  for (std::size_t e = 0; e < topology.memory.size(); ++e) {
    for (const char* attribute : {"latency", "fetch_granularity", "write_bandwidth", "amount", "shared_with"}) {
      Topology whole = topology;
      lose(e, attribute);
      EXPECT_NO_THROW(tree_of(mt4g_of(topology))) << topology.memory[e].id << " without " << attribute;
      topology = whole;
    }
  }
  for (std::size_t e = 0; e < topology.memory.size(); ++e) lose(e, "latency");
  EXPECT_NO_THROW(tree_of(mt4g_of(topology)));
}

// The size is "at least 64 KiB" on GPUs whose cache holds all constants.
TEST(Mt4gJson, AConstantCacheLargerThanAllConstants) {
  Topology topology = saved_report("h200");
  for (MemoryElement& element : topology.memory) {
    if (element.id != "constant_l15") continue;
    get_or_add(element.attributes, "size") = unavailable(Reason::kNotSupported, "at least 64 KiB");
  }
  const nlohmann::json document = mt4g_of(topology);
  EXPECT_EQ(document["memory"]["constant"]["l1.5"]["size"]["size"], 65537);
  EXPECT_EQ(document["memory"]["constant"]["l1.5"]["size"]["confidence"], 0);
  EXPECT_NO_THROW(tree_of(document));
}

TEST(Mt4gJson, CountsDivide) {
  Topology topology = saved_report("mi300x");
  for (const int sms : {303, 1, 7}) {
    get_or_add(topology.compute, "sm_count") = api_value(std::int64_t{sms}, "");
    EXPECT_NO_THROW(tree_of(mt4g_of(topology))) << sms;
  }
  topology = saved_report("mi300x");
  for (MemoryElement& element : topology.memory) {
    if (element.id == "l2") get_or_add(element.attributes, "amount") = api_value(std::int64_t{3}, "per GPU");
    if (element.id == "l3") get_or_add(element.attributes, "amount") = api_value(std::int64_t{5}, "per GPU");
  }
  EXPECT_NO_THROW(tree_of(mt4g_of(topology)));
}

TEST(Mt4gJson, SaysWhatItLacks) {
  Topology topology = saved_report("h200");
  for (MemoryElement& element : topology.memory) {
    if (element.id == "l2") get_or_add(element.attributes, "size") = unavailable(Reason::kTimedOut, "60 s ran out");
  }
  EXPECT_EQ(test::message_of<FormatError>("a lack", [&] { (void)to_mt4g_json(topology); }),
            "MT4G's JSON needs l2.size, which is unavailable (timed out: 60 s ran out); measure it: gputopo --only "
            "l2.size");
  topology = saved_report("h200");
  get_or_add(topology.compute, "sm_count") = api_value(std::int64_t{0}, "");
  EXPECT_THAT(test::message_of<FormatError>("a lack", [&] { (void)to_mt4g_json(topology); }), HasSubstr("sm_count"));
}

// Each simulated machine, measured.
class Mt4gMachines : public ::testing::TestWithParam<std::string> {};

TEST_P(Mt4gMachines, SysSageBuildsThem) {
  const std::unique_ptr<Device> device = open_device("sim:" + GetParam(), 1);
  DiscoverOptions options;
  options.attributes = {"size",         "latency",           "read_bandwidth", "write_bandwidth",
                        "line_size",    "fetch_granularity", "amount",         "shared_with",
                        "miss_penalty", "partitions",        "shared_between"};
  for (const ElementInfo* element : elements_of(vendor_of(device->info().vendor))) {
    const bool is_memory = element->kind == ElementKind::kDataCache || element->kind == ElementKind::kScratchpad ||
                           element->kind == ElementKind::kMemory;
    if (is_memory) options.elements.emplace_back(element->name);
  }
  const Topology topology = discover(*device, options);
  EXPECT_EQ(tree_of(mt4g_of(topology)).sms, device->info().sm_count);
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(GPUTOPO_SOURCE_DIR "/machines")) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Machines, Mt4gMachines, ::testing::ValuesIn(machine_names()), [](const auto& name) {
  std::string id = name.param;
  std::ranges::replace(id, '-', '_');
  return id;
});

}  // namespace
}  // namespace gputopo
