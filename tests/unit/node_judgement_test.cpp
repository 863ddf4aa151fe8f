// Which links and GPUs of a node are good, bad or not judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "node/judgement.h"
#include "node/link_capacity.h"

namespace gputopo::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr Endpoint kHostMemory{EndpointKind::kHost, 0};
Endpoint gpu(std::uint32_t index) { return {EndpointKind::kGpu, index}; }

Attribute rate(double bytes_per_second, double spread = 0.01) {
  return {.value = bytes_per_second,
          .unit = "B/s",
          .low = bytes_per_second * (1 - spread),
          .high = bytes_per_second * (1 + spread),
          .source = Source::kMeasured};
}

// Two H200 whose links are healthy.
NodeReport healthy_node() {
  NodeReport report;
  report.numa_nodes = {{.id = 0}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    NodeGpu one{.spec = "cuda:" + std::to_string(i), .name = "NVIDIA H200", .numa_node = 0};
    one.pci_link = {.generation = 1, .width = 16, .generation_max = 5, .width_max = 16};
    report.gpus.push_back({.gpu = one});
    report.peers.push_back({.from = i, .to = 1 - i, .kind = "nvswitch", .lanes = 18, .is_reachable = true});
    report.links.push_back({kHostMemory, gpu(i), "host", {{"copy_bandwidth", rate(53e9)}}});
    report.links.push_back({gpu(i), kHostMemory, "host", {{"copy_bandwidth", rate(55e9)}}});
    report.links.push_back({gpu(i), gpu(1 - i), "nvswitch", {{"copy_bandwidth", rate(396e9)}}});
  }
  return report;
}

std::vector<Verdict> judged(NodeReport report) {
  add_capacity_fractions(report);
  return judge_links(report);
}

std::vector<Verdict> with(const std::vector<Verdict>& verdicts, Outcome outcome) {
  std::vector<Verdict> result;
  for (const Verdict& verdict : verdicts) {
    if (verdict.outcome == outcome) result.push_back(verdict);
  }
  return result;
}

TEST(NodeJudgement, AHealthyNodeIsGoodInAllParts) {
  const std::vector<Verdict> verdicts = judged(healthy_node());
  EXPECT_EQ(outcome_of(verdicts), Outcome::kGood);
  EXPECT_EQ(verdicts.size(), 8u);  // 4 directions to the host, 2 between the GPUs, 2 counts of NVLinks
  EXPECT_EQ(verdicts.front().text, "84% of PCIe 5.0 x16");
}

TEST(NodeJudgement, WithoutVerdictsNothingIsJudged) { EXPECT_EQ(outcome_of({}), Outcome::kNotJudged); }

TEST(NodeJudgement, SlowHostLinksAreBadEvenIfAllAreSlow) {
  NodeReport report = healthy_node();
  for (LinkReport& link : report.links) {
    if (link.kind == "host") get_or_add(link.attributes, "copy_bandwidth") = rate(7e9);
  }
  const std::vector<Verdict> bad = with(judged(report), Outcome::kBad);
  ASSERT_EQ(bad.size(), 4u);
  EXPECT_EQ(bad.front().part, "host0 to gpu0");
  EXPECT_THAT(bad.front().text, HasSubstr("11% of PCIe 5.0 x16"));
  EXPECT_FALSE(bad.front().next_step.empty());
}

TEST(NodeJudgement, ALinkThatSomeRunsShowHealthyIsNotJudged) {
  NodeReport report = healthy_node();
  get_or_add(report.links.front().attributes, "copy_bandwidth") = rate(40e9, 0.3);
  const std::vector<Verdict> unclear = with(judged(report), Outcome::kNotJudged);
  ASSERT_EQ(unclear.size(), 1u);
  EXPECT_THAT(unclear.front().text, HasSubstr("other traffic"));
}

TEST(NodeJudgement, ALinkWithoutMeasurementOrCapacityIsNotJudged) {
  NodeReport report = healthy_node();
  report.links.erase(report.links.begin());
  report.gpus[1].gpu.pci_link = {};
  const std::vector<Verdict> verdicts = judged(report);
  EXPECT_EQ(outcome_of(verdicts), Outcome::kNotJudged);
  EXPECT_EQ(with(verdicts, Outcome::kNotJudged).size(), 3u);
}

TEST(NodeJudgement, ALinkWithoutCopiesIsNotJudgedByItsOtherRates) {
  NodeReport report = healthy_node();
  report.links.front().attributes = {{"sm_read_bandwidth", rate(53e9)}};
  ASSERT_EQ(with(judged(report), Outcome::kNotJudged).size(), 1u);
  EXPECT_THAT(with(judged(report), Outcome::kNotJudged).front().text, HasSubstr("copy_bandwidth"));
  report.numa_nodes.push_back({.id = 1});  // which of the two is near is unknown
  for (NodeGpuReport& one : report.gpus) one.gpu.numa_node = std::nullopt;
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kNotJudged);
}

TEST(NodeJudgement, WhatADocumentCallsALinkDoesNotExcuseIt) {
  NodeReport report = healthy_node();
  for (LinkReport& link : report.links) {
    link.kind = "";
    const bool is_host = link.from.kind != link.to.kind;
    get_or_add(link.attributes, "copy_bandwidth") = rate(is_host ? 32e9 : 200e9);
  }
  for (NodeGpuReport& one : report.gpus) {
    one.gpu.pci_link.slot_generation_max = 5;
    one.gpu.pci_link.slot_width_max = 16;
  }
  EXPECT_EQ(with(judged(report), Outcome::kBad).size(), 6u);
  for (PeerLink& peer : report.peers) peer.kind = "";
  EXPECT_EQ(with(judged(report), Outcome::kBad).size(), 4u);
  EXPECT_FALSE(with(judged(report), Outcome::kNotJudged).empty());
}

TEST(NodeJudgement, LanesThatASwitchLostAreBad) {
  NodeReport report = healthy_node();
  report.gpus[0].gpu.pci_link.hops = {{.port = "0000:00:01.0", .width = 8, .generation_max = 6, .width_max = 16}};
  ASSERT_EQ(with(judged(report), Outcome::kBad).size(), 1u);
  EXPECT_THAT(with(judged(report), Outcome::kBad).front().text, HasSubstr("port 0000:00:01.0 runs with 8 of"));
  report.gpus[0].gpu.pci_link.hops.front().width_max = 8;  // it never had more
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kGood);
}

TEST(NodeJudgement, SmsShowALinkThatTheCopyEngineCannotFill) {
  NodeReport report = healthy_node();
  for (LinkReport& link : report.links) {
    if (link.kind == "host") continue;
    link.attributes = {{"copy_bandwidth", rate(90e9)}, {"sm_read_bandwidth", rate(375e9)}};
  }
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kGood);
}

TEST(NodeJudgement, MissingNvLinksAreBadEvenIfBothGpusLackThem) {
  NodeReport report = healthy_node();
  for (PeerLink& peer : report.peers) peer.lanes = 9;
  for (LinkReport& link : report.links) {
    if (link.kind != "host") get_or_add(link.attributes, "copy_bandwidth") = rate(198e9);
  }
  const std::vector<Verdict> bad = with(judged(report), Outcome::kBad);
  ASSERT_EQ(bad.size(), 2u);
  EXPECT_EQ(bad.front().text, "9 of 18 NVLinks are up");
}

TEST(NodeJudgement, GpusOfAnUnknownModelAreJudgedByTheirDriverOrNotAtAll) {
  NodeReport report = healthy_node();
  for (NodeGpuReport& one : report.gpus) one.gpu.name = "Some GPU";
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kNotJudged);  // the rate of a lane is unknown
  for (PeerLink& peer : report.peers) peer.lane_bytes_per_second = 26.5e9;
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kNotJudged);  // both may lack some of their links
  for (NodeGpuReport& one : report.gpus) one.gpu.nvlinks = one.gpu.nvlinks_max = 18;
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kGood);
  report.gpus[0].gpu.nvlinks = 12;
  EXPECT_EQ(with(judged(report), Outcome::kBad).size(), 1u);
}

// Four A100, each pair joined by four NVLinks.
NodeReport mesh() {
  NodeReport report;
  report.numa_nodes = {{.id = 0}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    NodeGpu one{.spec = "cuda:" + std::to_string(i), .name = "NVIDIA A100-SXM4-40GB", .numa_node = 0};
    one.pci_link = {.generation = 4, .width = 16, .generation_max = 4, .width_max = 16};
    report.gpus.push_back({.gpu = one});
    report.links.push_back({kHostMemory, gpu(i), "host", {{"copy_bandwidth", rate(26e9)}}});
    report.links.push_back({gpu(i), kHostMemory, "host", {{"copy_bandwidth", rate(26e9)}}});
    for (std::uint32_t to = 0; to < 4; ++to) {
      if (to == i) continue;
      report.peers.push_back({.from = i, .to = to, .kind = "nvlink", .lanes = 4, .is_reachable = true});
      report.links.push_back({gpu(i), gpu(to), "nvlink", {{"copy_bandwidth", rate(88e9)}}});
    }
  }
  return report;
}

LinkReport& link_of(NodeReport& report, std::uint32_t from, std::uint32_t to) {
  return *std::ranges::find_if(report.links,
                               [&](const LinkReport& link) { return link.from == gpu(from) && link.to == gpu(to); });
}
PeerLink& peer_of(NodeReport& report, std::uint32_t from, std::uint32_t to) {
  return *std::ranges::find_if(report.peers, [&](const PeerLink& peer) { return peer.from == from && peer.to == to; });
}

std::vector<std::string> parts_of(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> parts;
  for (const Verdict& verdict : verdicts) parts.push_back(verdict.part);
  return parts;
}

TEST(NodeJudgement, APairThatLostItsNvLinksIsBadAndSoAreItsGpus) {
  EXPECT_EQ(outcome_of(judged(mesh())), Outcome::kGood);
  NodeReport report = mesh();
  for (const auto& [from, to] : {std::pair(0u, 3u), std::pair(3u, 0u)}) {
    peer_of(report, from, to) = {.from = from, .to = to, .kind = "pcie", .is_reachable = true};
    link_of(report, from, to) = {gpu(from), gpu(to), "pcie", {{"copy_bandwidth", rate(22e9)}}};
  }
  EXPECT_THAT(parts_of(with(judged(report), Outcome::kBad)),
              UnorderedElementsAre("gpu0", "gpu3", "gpu0 to gpu3", "gpu3 to gpu0"));
  for (const auto& [from, to] : {std::pair(0u, 3u), std::pair(3u, 0u)}) {
    peer_of(report, from, to) = {.from = from, .to = to, .kind = "nvlink", .lanes = 2, .is_reachable = true};
    link_of(report, from, to) = {gpu(from), gpu(to), "nvlink", {{"copy_bandwidth", rate(44e9)}}};
  }
  EXPECT_THAT(parts_of(with(judged(report), Outcome::kBad)),
              UnorderedElementsAre("gpu0", "gpu3", "gpu0 to gpu3", "gpu3 to gpu0"));
}

TEST(NodeJudgement, BoardsWhoseNvLinksAreAllDownAreBadUnlessTheDriverCannotTell) {
  NodeReport report = healthy_node();
  for (PeerLink& peer : report.peers) peer = {.from = peer.from, .to = peer.to, .kind = "pcie"};
  for (LinkReport& link : report.links) {
    if (link.kind == "nvswitch") link = {link.from, link.to, "pcie", {{"copy_bandwidth", rate(45e9)}}};
  }
  EXPECT_THAT(parts_of(with(judged(report), Outcome::kBad)), ElementsAre("gpu0", "gpu1"));
  for (PeerLink& peer : report.peers) peer.kind = "";
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kNotJudged);
  report.gpus.pop_back();
  report.gpus[0].gpu.nvlinks = 0;
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kNotJudged);  // a virtual machine with one GPU has none
}

TEST(NodeJudgement, ALinkThatIsSlowerThanTheOthersLikeItIsBad) {
  NodeReport report = mesh();
  for (PeerLink& peer : report.peers) peer.kind = "xgmi", peer.lane_bytes_per_second = 16e9;
  for (LinkReport& link : report.links) {
    if (link.kind == "nvlink") link = {link.from, link.to, "xgmi", {{"copy_bandwidth", rate(48e9)}}};
  }
  for (NodeGpuReport& one : report.gpus) one.gpu.name = "AMD Instinct MI250X";
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kGood);
  get_or_add(link_of(report, 1, 2).attributes, "copy_bandwidth") =
      rate(36e9);  // 56% of the capacity, 75% of the others
  EXPECT_THAT(parts_of(with(judged(report), Outcome::kBad)), ElementsAre("gpu1 to gpu2"));
}

TEST(NodeJudgement, PairsThroughTheHostAreJudgedByTheirPcieLinksOrByEachOther) {
  NodeReport report = healthy_node();
  for (NodeGpuReport& one : report.gpus) one.gpu.name = "NVIDIA L40S";
  for (const double bytes_per_second : {45e9, 10e9}) {
    for (PeerLink& peer : report.peers) peer = {.from = peer.from, .to = peer.to, .kind = "pcie"};
    for (LinkReport& link : report.links) {
      if (link.kind != "host") link = {link.from, link.to, "pcie", {{"copy_bandwidth", rate(bytes_per_second)}}};
    }
    EXPECT_EQ(outcome_of(judged(report)), bytes_per_second > 40e9 ? Outcome::kGood : Outcome::kNotJudged);
  }
}

TEST(NodeJudgement, WhatALinkRunsAtIsNotItsStandard) {
  NodeReport report = healthy_node();
  for (LinkReport& link : report.links) {
    if (link.kind == "host") get_or_add(link.attributes, "copy_bandwidth") = rate(13e9);
  }
  for (NodeGpuReport& one : report.gpus) one.gpu.pci_link = {.generation = 3, .width = 16, .width_max = 16};
  EXPECT_EQ(with(judged(report), Outcome::kNotJudged).size(), 4u);
  for (NodeGpuReport& one : report.gpus) one.gpu.pci_link = {.generation = 3, .width = 16, .generation_max = 3};
  EXPECT_EQ(with(judged(report), Outcome::kNotJudged).size(), 4u);
}

TEST(NodeJudgement, ABoardInAnUnknownSlotOfAnEarlierGenerationIsNotJudged) {
  NodeReport report = healthy_node();
  const auto set_rates = [&](double bytes_per_second) {
    for (LinkReport& link : report.links) {
      if (link.kind == "host") get_or_add(link.attributes, "copy_bandwidth") = rate(bytes_per_second);
    }
  };
  set_rates(26e9);
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kNotJudged);
  set_rates(7e9);  // less than a board that needs PCIe 5.0 gets in any slot of the last ten years
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kBad);
  set_rates(26e9);
  for (NodeGpuReport& one : report.gpus) {
    one.gpu.pci_link.slot_generation_max = 5;
    one.gpu.pci_link.slot_width_max = 16;
  }
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kBad);
}

TEST(NodeJudgement, LanesThatTheSlotHasAreMissedAndThoseItNeverHadAreNot) {
  NodeReport report = healthy_node();
  PciLink& link = report.gpus[0].gpu.pci_link;
  link.width = 8;
  EXPECT_THAT(with(judged(report), Outcome::kBad).front().text, HasSubstr("8 of 16 lanes"));  // as gpu1
  report.gpus[1].gpu.pci_link.width = 8;
  for (LinkReport& one : report.links) {
    if (one.kind == "host") get_or_add(one.attributes, "copy_bandwidth") = rate(27e9);
  }
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kNotJudged);  // the slots may have more lanes
  for (NodeGpuReport& one : report.gpus) one.gpu.pci_link.slot_width_max = 8;
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kGood);
  for (NodeGpuReport& one : report.gpus) one.gpu.pci_link.slot_width_max = 16;
  EXPECT_EQ(outcome_of(judged(report)), Outcome::kBad);
}

TEST(NodeJudgement, AFasterLinkThanTheReportedOneIsNotJudged) {
  NodeReport report = healthy_node();
  get_or_add(report.links.front().attributes, "copy_bandwidth") = rate(300e9);
  EXPECT_EQ(with(judged(report), Outcome::kNotJudged).size(), 1u);
}

TEST(LinkCapacity, IsTheSmallerOfGpuAndSlot) {
  const PciLink link{.generation_max = 5, .width_max = 16, .slot_generation_max = 4, .slot_width_max = 8};
  EXPECT_EQ(host_link_capacity(link)->text, "PCIe 4.0 x8");
  EXPECT_NEAR(host_link_capacity(link)->bytes_per_second, 15.75e9, 0.01e9);
  EXPECT_EQ(host_link_capacity({.generation_max = 5}), std::nullopt);
  EXPECT_EQ(host_link_capacity({.generation_max = 9, .width_max = 16}), std::nullopt);
}

TEST(LinkCapacity, IsThatOfTheSlowestLinkUpToTheRootPort) {
  PciLink link{.generation_max = 5, .width_max = 16, .slot_generation_max = 5, .slot_width_max = 16};
  EXPECT_TRUE(is_slot_known(link));
  link.hops = {{.generation_max = 4, .width_max = 16}, {.generation_max = 5, .width_max = 4}};
  EXPECT_EQ(host_link_capacity(link)->text, "PCIe 5.0 x4");
  EXPECT_TRUE(is_slot_known(link));
  link.hops.back().width_max = std::nullopt;
  EXPECT_EQ(host_link_capacity(link)->text, "PCIe 4.0 x16");
  EXPECT_FALSE(is_slot_known(link));
}

TEST(LinkCapacity, OfALaneIsAtLeastThatOfTheDataSheet) {
  PeerLink peer{.kind = "nvswitch", .lanes = 18, .lane_bytes_per_second = 12.5e9};
  EXPECT_EQ(peer_link_capacity(peer, "NVIDIA H200")->text, "18 x 25 GB/s nvswitch");
  peer.lane_bytes_per_second = 26.5e9;
  EXPECT_EQ(peer_link_capacity(peer, "NVIDIA H200")->bytes_per_second, 18 * 26.5e9);
  const PeerLink xgmi{.kind = "xgmi", .lanes = 4, .lane_bytes_per_second = 50e9};
  EXPECT_EQ(peer_link_capacity(xgmi, "AMD Instinct MI250X")->text, "4 x 50 GB/s xgmi");
  EXPECT_EQ(peer_link_capacity({.kind = "xgmi"}, "AMD Instinct MI250X"), std::nullopt);
  EXPECT_EQ(peer_link_capacity({.kind = "xgmi"}, "AMD Instinct MI300X")->text, "1 x 64 GB/s xgmi");
}

TEST(LinkCapacity, OfNvLinksComesFromTheDriverOrTheModel) {
  EXPECT_EQ(peer_link_capacity({.kind = "nvswitch", .lanes = 18}, "NVIDIA H200")->text, "18 x 25 GB/s nvswitch");
  EXPECT_EQ(peer_link_capacity({.kind = "nvlink", .lanes = 4}, "NVIDIA H100 PCIe"), std::nullopt);
  EXPECT_EQ(peer_link_capacity({.kind = "pcie"}, "NVIDIA H200"), std::nullopt);
}

}  // namespace
}  // namespace gputopo::node
