// Nodes with a fault, from the command line to the exit code, and through the fleet's store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "gputopo/file.h"
#include "support/command.h"

namespace gputopo {
namespace {

using Json = nlohmann::ordered_json;
using test::CommandResult;
using test::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::Not;

CommandResult gputopo_command(const std::string& arguments) {
  return test::run_command(GPUTOPO_BINARY " " + arguments);
}

// Writes a variant of a simulated node to a file.
std::string node_file(const TemporaryFolder& folder, const std::string& name,
                      const std::function<void(Json&)>& change) {
  Json node = Json::parse(read_file(GPUTOPO_SOURCE_DIR "/machines/nodes/" + name + ".json"));
  change(node);
  write_file(folder.file("machine.json"), node.dump());
  return folder.file("machine.json");
}

Json& segment_of(Json& node, const std::string& name) {
  for (Json& segment : node["segments"]) {
    if (segment["name"] == name) return segment;
  }
  throw std::out_of_range(name);
}

void slow_down(Json& segment, double factor) {
  for (const char* rate : {"bytes_per_second", "back_bytes_per_second", "both_bytes_per_second"}) {
    if (segment.contains(rate)) segment[rate] = segment[rate].get<double>() * factor;
  }
}

struct Judged {
  CommandResult node;
  CommandResult fleet;
};
// Measures the node's links, merges the document into a store and judges the store.
Judged judged(const TemporaryFolder& folder, const std::string& machine) {
  Judged result;
  result.node = gputopo_command("node --links-only --quiet --node sim:" + machine + " --json " + folder.file("n.json"));
  gputopo_command("fleet merge --out " + folder.file("s.db") + " " + folder.file("n.json"));
  result.fleet = gputopo_command("fleet report " + folder.file("s.db"));
  return result;
}

// Two GPUs have ports of half the width, so that a trunk of the switch is as fast as one pair: pairs of whole ports are
// as slow together as the degraded ones are alone.
TEST(CliNodeJudgement, PairsThatShareATrunkAreMeasuredAlone) {
  const TemporaryFolder folder;
  double whole = 0;
  const std::string machine = node_file(folder, "h100x8", [&](Json& node) {
    for (const char* port : {"nvlink0", "nvlink1", "nvlink2", "nvlink3"}) slow_down(segment_of(node, port), 0.5);
    whole = segment_of(node, "nvlink4")["bytes_per_second"].get<double>();
    node["segments"].push_back({{"name", "trunk"}, {"bytes_per_second", 2 * whole}});
    for (Json& path : node["paths"]) {
      if (path["from"].get<std::string>().starts_with("gpu")) path["over"].push_back("trunk");
    }
  });
  gputopo_command("node --links-only --quiet --node sim:" + machine + " --json " + folder.file("n.json"));
  const Json document = Json::parse(read_file(folder.file("n.json")));
  for (const Json& link : document["links"]) {
    if (link["from"] != "gpu6" || link["to"] != "gpu7") continue;
    EXPECT_NEAR(link["attributes"]["copy_bandwidth"]["value"].get<double>(), whole, 0.02 * whole);
  }
}

TEST(CliNodeJudgement, HealthyNodesAreGood) {
  for (const std::string name : {"h200x2", "h100x8"}) {
    const TemporaryFolder folder;
    const auto [node, fleet] = judged(folder, node_file(folder, name, [](Json&) {}));
    EXPECT_EQ(node.exit_code, 0) << node.out << node.err;
    EXPECT_EQ(fleet.exit_code, 0) << fleet.out;
    EXPECT_THAT(fleet.out, HasSubstr("links judged"));
  }
}

TEST(CliNodeJudgement, ASlowHostLinkOfTwoIsBad) {
  const TemporaryFolder folder;
  const auto [node, fleet] =
      judged(folder, node_file(folder, "h200x2", [](Json& json) { slow_down(segment_of(json, "pcie1"), 0.13); }));
  EXPECT_EQ(node.exit_code, 1);
  EXPECT_THAT(node.out, HasSubstr("BAD: host0 to gpu1: 11% of PCIe 5.0 x16"));
  EXPECT_THAT(node.out, Not(HasSubstr("BAD: host0 to gpu0")));
  EXPECT_EQ(fleet.exit_code, 1);
  EXPECT_THAT(fleet.out, HasSubstr("link.host0-gpu1.verdict"));
  EXPECT_THAT(fleet.out, HasSubstr("11% of PCIe 5.0 x16"));
}

TEST(CliNodeJudgement, SlowHostLinksAreBadHoweverManyThereAre) {
  for (const int slow : {1, 2, 4, 8}) {
    const TemporaryFolder folder;
    const auto [node, fleet] = judged(folder, node_file(folder, "h100x8", [&](Json& json) {
                                        for (int i = 0; i < slow; ++i) {
                                          slow_down(segment_of(json, "pcie" + std::to_string(7 - i)), 0.13);
                                        }
                                      }));
    EXPECT_EQ(node.exit_code, 1) << slow;
    EXPECT_EQ(fleet.exit_code, 1) << slow;
    EXPECT_THAT(fleet.out, HasSubstr(slow == 1 ? "1 outlier" : std::to_string(slow) + " outliers"));
  }
}

TEST(CliNodeJudgement, HalfTheNvLinksOfOneOfTwoGpusIsBad) {
  const TemporaryFolder folder;
  const auto [node, fleet] = judged(folder, node_file(folder, "h200x2", [](Json& json) {
                                      slow_down(segment_of(json, "nvlink1"), 0.5);
                                      json["peers"][0]["lanes"] = 9;
                                    }));
  EXPECT_EQ(node.exit_code, 1);
  EXPECT_THAT(node.out, HasSubstr("9 of 18 NVLinks are up"));
}

TEST(CliNodeJudgement, NvLinksThatAreUpButSlowAreBad) {
  const TemporaryFolder folder;
  const auto [node, fleet] =
      judged(folder, node_file(folder, "h200x2", [](Json& json) { slow_down(segment_of(json, "nvlink1"), 0.5); }));
  EXPECT_EQ(node.exit_code, 1);
  EXPECT_EQ(fleet.exit_code, 1);
  EXPECT_THAT(fleet.out, HasSubstr("link.gpu0-gpu1.verdict"));
}

TEST(CliNodeJudgement, ALinkOfUnknownCapacityIsNotJudged) {
  const TemporaryFolder folder;
  const std::string machine = node_file(folder, "h200x2", [](Json& json) {
    for (const char* key : {"pcie_width", "pcie_width_max"}) json["gpus"][1].erase(key);
  });
  const auto [node, fleet] = judged(folder, machine);
  EXPECT_EQ(node.exit_code, 3);
  EXPECT_THAT(node.out, HasSubstr("not judged: host0 to gpu1"));
  EXPECT_EQ(gputopo_command("node --links-only --quiet --allow-not-judged --node sim:" + machine).exit_code, 0);
}

TEST(CliNodeJudgement, AGpuThatDiffersFromTheOthersIsBad) {
  const TemporaryFolder folder;
  Json gpu = Json::parse(read_file(GPUTOPO_SOURCE_DIR "/machines/h100-sxm.json"));
  gpu["info"]["memory_bus_bits"]["value"] = gpu["info"]["memory_bus_bits"]["value"].get<int>() / 2;
  write_file(folder.file("fewer.json"), gpu.dump());
  const std::string machine =
      node_file(folder, "h100x8", [&](Json& json) { json["gpus"][5]["spec"] = "sim:" + folder.file("fewer.json"); });
  const CommandResult node =
      gputopo_command("node --quiet --gpus-only --only l2 --attribute latency --node sim:" + machine);
  EXPECT_EQ(node.exit_code, 1) << node.out << node.err;
  EXPECT_THAT(node.out, HasSubstr("BAD: gpu5: differs from the other GPUs: device.memory_bus_width"));
}

TEST(CliNodeJudgement, AMissingGpuIsBad) {
  const std::string node = "node --links-only --quiet --node sim:h200x2 ";
  EXPECT_EQ(gputopo_command(node + "--expect 2xH200").exit_code, 0);
  const CommandResult missing = gputopo_command(node + "--expect 3xH200");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.out, HasSubstr("BAD: node: 2 of 3 expected H200 GPUs are present"));
  EXPECT_EQ(gputopo_command(node + "--expect 3xH200x").exit_code, 1) << "another model";
  EXPECT_EQ(gputopo_command(node + "--expect nothing.json").exit_code, 1) << "no such file";
}

TEST(CliNodeJudgement, WhatAnEarlierReportHadIsExpected) {
  const TemporaryFolder folder;
  judged(folder, node_file(folder, "h200x2", [](Json&) {}));
  const std::string worse = node_file(folder, "h200x2", [](Json& json) { json["gpus"][1]["pcie_width"] = 8; });
  const CommandResult node =
      gputopo_command("node --links-only --quiet --node sim:" + worse + " --expect " + folder.file("n.json"));
  EXPECT_EQ(node.exit_code, 1);
  EXPECT_THAT(node.out, HasSubstr("gpu1: has 8 PCIe lanes; it had 16 on "));
}

TEST(CliNodeJudgement, CheckDiffAndGetReadNodes) {
  const TemporaryFolder folder;
  judged(folder, node_file(folder, "h100x8", [](Json&) {}));
  const std::string healthy = folder.file("healthy.json");
  std::filesystem::rename(folder.file("n.json"), healthy);
  judged(folder, node_file(folder, "h100x8", [](Json& json) {
           for (Json& peer : json["peers"]) {
             if (peer["from"] == "gpu3" || peer["to"] == "gpu3") peer["lanes"] = 12;
           }
           slow_down(segment_of(json, "nvlink3"), 12.0 / 18);
         }));
  const std::string lesser = folder.file("n.json");
  EXPECT_EQ(gputopo_command("check " + healthy + " --baseline " + healthy).exit_code, 0);
  const CommandResult check = gputopo_command("check " + lesser + " --baseline " + healthy);
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_THAT(check.out, HasSubstr("violation: link.gpu3-gpu0 lanes: 12, baseline 18"));
  EXPECT_THAT(check.out, Not(HasSubstr("violation: link.gpu1-gpu2")));
  const CommandResult diff = gputopo_command("diff " + healthy + " " + lesser);
  EXPECT_EQ(diff.exit_code, 1);
  EXPECT_THAT(diff.out, HasSubstr("Link gpu3 to gpu0"));
  EXPECT_EQ(gputopo_command("get link.gpu3-gpu0.lanes --report " + lesser).out, "12\n");
  EXPECT_EQ(gputopo_command("get gpu3.device.pcie_width --report " + lesser).out, "16\n");
  const std::string tolerance = " --tolerance link.gpu0-gpu3.copy_bandwidth=50%";
  EXPECT_THAT(gputopo_command("check " + lesser + " --baseline " + healthy + tolerance).out,
              Not(HasSubstr("link.gpu0-gpu3 copy bandwidth")));
}

// A node whose links were as bad when the baseline was saved is still bad.
TEST(CliNodeJudgement, CheckTakesTheVerdictsOnTheLinksOfANode) {
  const TemporaryFolder folder;
  judged(folder, node_file(folder, "h200x2", [](Json&) {}));
  const std::string node = folder.file("n.json");
  const CommandResult good = gputopo_command("check " + node + " --require links");
  EXPECT_EQ(good.exit_code, 0) << good.out;
  EXPECT_THAT(good.out, HasSubstr("parts of the node judged, 0 violations, 0 not judged"));
  EXPECT_EQ(gputopo_command("check " + node + " --require values").exit_code, 3);
  judged(folder, node_file(folder, "h200x2", [](Json& json) { slow_down(segment_of(json, "pcie0"), 0.4); }));
  for (const std::string& options : {std::string(), " --baseline " + node}) {
    const CommandResult bad = gputopo_command("check " + node + options);
    EXPECT_EQ(bad.exit_code, 1) << options;
    EXPECT_THAT(bad.out, HasSubstr("violation: host0 to gpu0: "));
  }
}

TEST(CliNodeJudgement, AGpusReportIsABaselineForEachGpuOfANode) {
  const TemporaryFolder folder;
  const std::string only = " --quiet --only l2 --attribute latency,size ";
  gputopo_command("--device sim:h100-sxm" + only + "--json " + folder.file("gpu.json"));
  gputopo_command("node --node sim:h100x8 --gpus-only" + only + "--json " + folder.file("n.json"));
  const CommandResult check =
      gputopo_command("check " + folder.file("n.json") + " --baseline " + folder.file("gpu.json"));
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
  EXPECT_THAT(check.out, HasSubstr("8 x NVIDIA H100"));
}

TEST(CliNodeJudgement, TheJudgementIsKeptInTheDocument) {
  const TemporaryFolder folder;
  const auto [node, fleet] =
      judged(folder, node_file(folder, "h200x2", [](Json& json) { slow_down(segment_of(json, "pcie0"), 0.4); }));
  const Json judgement = Json::parse(read_file(folder.file("n.json"))).at("judgement");
  EXPECT_EQ(judgement.at("outcome"), "bad");
  EXPECT_EQ(gputopo_command("show " + folder.file("n.json")).out, node.out);
  EXPECT_EQ(gputopo_command("show --json - " + folder.file("n.json")).out, read_file(folder.file("n.json")));
}

}  // namespace
}  // namespace gputopo
