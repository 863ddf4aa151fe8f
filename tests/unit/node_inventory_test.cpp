// Hardware that a node should have and lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "node/inventory.h"
#include "support/command.h"

namespace gputopo::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NodeReport node_of(const std::vector<std::string>& names) {
  NodeReport report;
  for (const std::string& name : names) report.gpus.push_back({.gpu = {.name = name}});
  return report;
}

TEST(NodeInventory, ExpectationsAreNumbersOfModels) {
  EXPECT_THAT(*parse_expected_gpus("8xH200"), ElementsAre(ExpectedGpus{8, "H200"}));
  EXPECT_THAT(*parse_expected_gpus("4xA100,1xTesla T4"),
              ElementsAre(ExpectedGpus{4, "A100"}, ExpectedGpus{1, "Tesla T4"}));
  for (const char* text : {"", "8", "8x", "xH200", "H200", "8xH200,", "node.json", "-1xH200"}) {
    EXPECT_EQ(parse_expected_gpus(text), std::nullopt) << text;
  }
}

TEST(NodeInventory, AMissingGpuIsBad) {
  const NodeReport report = node_of({"NVIDIA H200", "NVIDIA H200", "NVIDIA H200 NVL"});
  const auto outcomes = [&](const char* expected) {
    std::vector<Outcome> result;
    for (const Verdict& verdict : judge_counts(report, *parse_expected_gpus(expected)))
      result.push_back(verdict.outcome);
    return result;
  };
  EXPECT_THAT(outcomes("2xH200,1xH200 NVL"), ElementsAre(Outcome::kGood, Outcome::kGood));
  EXPECT_THAT(outcomes("3xh200"), ElementsAre(Outcome::kGood));
  EXPECT_THAT(outcomes("4xH200"), ElementsAre(Outcome::kBad));
  EXPECT_THAT(outcomes("1xA100"), ElementsAre(Outcome::kBad, Outcome::kBad, Outcome::kBad, Outcome::kBad));
  EXPECT_THAT(outcomes("3xH20"), Contains(Outcome::kBad));  // whole words only
  EXPECT_THAT(outcomes("2xH200 NVL"), Contains(Outcome::kBad));
  EXPECT_THAT(outcomes("2xH200"), ElementsAre(Outcome::kBad));  // more than expected
}

TEST(NodeInventory, WhatAnEarlierReportHadAndThisOneLacksIsBad) {
  NodeReport earlier = node_of({"NVIDIA H200", "NVIDIA H200"});
  earlier.timestamp = "2026-11-25T01:02:03Z";
  earlier.gpus[1].gpu.pci_link.width = 16;
  earlier.gpus[1].gpu.nvlinks = 18;
  earlier.peers.push_back({.from = 0, .to = 1, .kind = "nvswitch", .lanes = 18});
  EXPECT_THAT(judge_against(earlier, earlier), IsEmpty());
  NodeReport now = earlier;
  now.gpus[1].gpu.pci_link.width = 8;
  now.gpus[1].gpu.nvlinks.reset();
  now.peers[0].lanes = 12;
  const std::vector<Verdict> verdicts = judge_against(now, earlier);
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts[0].text, "has 8 PCIe lanes; it had 16 on 2026-11-25");
  EXPECT_EQ(verdicts[0].outcome, Outcome::kBad);
  EXPECT_EQ(verdicts[1].outcome, Outcome::kNotJudged);
  EXPECT_EQ(verdicts[2].text, "has 12 lanes to gpu1; it had 18 on 2026-11-25");
}

TEST(NodeInventory, GpusWithoutDriverAreBadAndHiddenOnesNotJudged) {
  const std::vector<SystemGpu> all = {{"0000:1b:00.0", "NVIDIA", "nvidia"},
                                      {"0000:2b:00.0", "NVIDIA", ""},
                                      {"0000:3b:00.0", "NVIDIA", "nvidia"},
                                      {"0000:4b:00.0", "NVIDIA", "vfio-pci"}};
  const std::vector<Verdict> verdicts = judge_hidden({"0000:1B:00.0"}, all, false);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].outcome, Outcome::kBad);
  EXPECT_THAT(verdicts[0].part, HasSubstr("2b:00.0"));
  EXPECT_EQ(verdicts[1].outcome, Outcome::kNotJudged);
  EXPECT_EQ(judge_hidden({"0000:1b:00.0"}, all, true).size(), 1u);
  EXPECT_THAT(judge_hidden({}, {}, false), IsEmpty());
}

TEST(SystemGpus, AreReadFromSysfs) {
  const test::TemporaryFolder folder;
  const auto add = [&](const std::string& address, const char* vendor, const char* pci_class, const char* driver) {
    const std::filesystem::path device = folder.file("bus/pci/devices/" + address);
    std::filesystem::create_directories(device);
    std::ofstream(device / "vendor") << vendor << '\n';
    std::ofstream(device / "class") << pci_class << '\n';
    if (driver == nullptr) return;
    std::filesystem::create_directories(folder.file("drivers/" + std::string(driver)));
    std::filesystem::create_symlink(folder.file("drivers/" + std::string(driver)), device / "driver");
  };
  add("0000:2b:00.0", "0x10de", "0x030200", nullptr);
  add("0000:1b:00.0", "0x10de", "0x030200", "nvidia");
  add("0000:1b:00.1", "0x10de", "0x040300", "snd_hda_intel");  // its audio function
  add("0000:03:00.0", "0x1002", "0x030000", "amdgpu");         // graphics of the CPU
  add("0000:04:00.0", "0x1002", "0x120000", "amdgpu");
  ::setenv("GPUTOPO_SYSFS", folder.file("").c_str(), 1);
  EXPECT_THAT(read_system_gpus(),
              ElementsAre(SystemGpu{"0000:04:00.0", "AMD", "amdgpu"}, SystemGpu{"0000:1b:00.0", "NVIDIA", "nvidia"},
                          SystemGpu{"0000:2b:00.0", "NVIDIA", ""}));
  ::unsetenv("GPUTOPO_SYSFS");
}

}  // namespace
}  // namespace gputopo::node
