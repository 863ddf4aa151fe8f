// Simulated nodes: their files, and how transfers share segments.
#include "device/node/sim_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/node/sim_links.h"
#include "gputopo/error.h"
#include "support/message_of.h"

namespace gputopo::node {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Endpoint kHost{EndpointKind::kHost, 0};
constexpr Endpoint kGpu0{EndpointKind::kGpu, 0};
constexpr Endpoint kGpu1{EndpointKind::kGpu, 1};

// Two GPUs with slots of 50 GB/s behind one uplink of 60 GB/s, and a link of 400 GB/s between them; no noise.
std::string text_with(const std::string& find = {}, const std::string& replacement = {}) {
  std::string text = R"({
    "node_version": 1, "name": "two", "noise": 0,
    "gpus": [{"spec": "sim:h200", "name": "A"}, {"spec": "sim:h200", "name": "A"}],
    "numa_nodes": [{"id": 0}],
    "peers": [{"from": "gpu0", "to": "gpu1", "kind": "nvlink", "is_reachable": true}],
    "segments": [{"name": "up", "bytes_per_second": 60e9},
                 {"name": "slot0", "bytes_per_second": 50e9, "back_bytes_per_second": 40e9},
                 {"name": "slot1", "bytes_per_second": 50e9, "both_bytes_per_second": 70e9},
                 {"name": "link", "bytes_per_second": 400e9}],
    "paths": [{"from": "host0", "to": "gpu0", "over": ["up", "slot0"], "copy_ns": 0, "load_ns": 1000},
              {"from": "host0", "to": "gpu1", "over": ["up", "slot1"], "copy_ns": 0,
               "pageable_bytes_per_second": 10e9},
              {"from": "gpu0", "to": "gpu1", "over": ["link"], "copy_ns": 0, "sm_read_bytes_per_second": 300e9}]
  })";
  if (!find.empty()) text.replace(text.find(find), find.size(), replacement);
  return text;
}

NodeSpec two() { return parse_node(text_with()); }

TEST(SimNode, SharesSegmentsFairly) {
  const auto rates = [](std::vector<Transfer> transfers) { return fair_rates(two(), TransferOp::kCopy, transfers); };
  EXPECT_THAT(rates({{kHost, kGpu0}}), ElementsAre(DoubleNear(50e9, 1)));
  EXPECT_THAT(rates({{kGpu0, kHost}}), ElementsAre(DoubleNear(40e9, 1)));
  EXPECT_THAT(rates({{kHost, kGpu0}, {kHost, kGpu1}}), ElementsAre(DoubleNear(30e9, 1), DoubleNear(30e9, 1)));
  // The uplink has its full rate in each direction; the second slot has 70 GB/s for both.
  EXPECT_THAT(rates({{kHost, kGpu0}, {kGpu0, kHost}}), ElementsAre(DoubleNear(50e9, 1), DoubleNear(40e9, 1)));
  EXPECT_THAT(rates({{kHost, kGpu1}, {kGpu1, kHost}}), ElementsAre(DoubleNear(35e9, 1), DoubleNear(35e9, 1)));
  EXPECT_THAT(rates({{kGpu0, kGpu1}, {kGpu1, kGpu0}}), ElementsAre(DoubleNear(400e9, 1), DoubleNear(400e9, 1)));
  EXPECT_THAT(fair_rates(two(), TransferOp::kRead, {{kGpu0, kGpu1}}), ElementsAre(DoubleNear(300e9, 1)));
}

TEST(SimNode, GivesTheRestTheRoomOfWhatIsDone) {
  const std::unique_ptr<Links> links = make_sim_links(two(), 1);
  // Only the host limits pageable copies.
  const TransferProgram pageable{TransferOp::kPageableCopy, {{kHost, kGpu1}}, 1u << 20, 1};
  EXPECT_NEAR(links->run(pageable).seconds.front(), (1u << 20) / 10e9, 1e-9);
  const TransferProgram both{TransferOp::kCopy, {{kHost, kGpu0}, {kHost, kGpu1}}, 1u << 20, 1};
  EXPECT_THAT(links->run(both).seconds,
              ElementsAre(DoubleNear((1u << 20) / 30e9, 1e-9), DoubleNear((1u << 20) / 30e9, 1e-9)));
  const TransferProgram load{TransferOp::kLoad, {{kHost, kGpu0}}, 4096, 16};
  EXPECT_NEAR(links->run(load).seconds.front(), 1e-6, 1e-12);
}

TEST(SimNode, RefusesWrongFilesInOneLine) {
  const auto refusal = [](const std::string& find, const std::string& replacement) {
    return test::message_of<FormatError>(replacement,
                                         [&] { static_cast<void>(parse_node(text_with(find, replacement))); });
  };
  EXPECT_THAT(refusal("\"node_version\": 1", "\"node_version\": 7"), HasSubstr("node_version"));
  EXPECT_THAT(refusal("\"slot0\"]", "\"slot9\"]"), HasSubstr("'slot9', but no segment"));
  EXPECT_THAT(refusal("60e9", "0"), HasSubstr("must have a bandwidth above 0"));
  EXPECT_THAT(refusal("60e9", "-1"), HasSubstr("segments[0].bytes_per_second"));
  EXPECT_THAT(refusal("\"to\": \"gpu1\", \"over\": [\"up\"", "\"to\": \"gpu0\", \"over\": [\"up\""),
              HasSubstr("twice"));
  EXPECT_THAT(refusal("\"from\": \"host0\", \"to\": \"gpu1\"", "\"from\": \"host0\", \"to\": \"gpu7\""),
              HasSubstr("paths[1]"));
  EXPECT_THAT(
      refusal("\"from\": \"gpu0\", \"to\": \"gpu1\", \"kind\"", "\"from\": \"gpu0\", \"to\": \"gpu0\", \"kind\""),
      HasSubstr("peers[0]"));
  EXPECT_THAT(refusal("\"numa_nodes\": [{\"id\": 0}]", "\"numa_nodes\": []"), HasSubstr("numa_nodes"));
  EXPECT_THAT(refusal("[\"link\"]", "[]"), HasSubstr("paths[2].over"));
}

TEST(SimNode, EveryNodeThatIsThereIsRead) {
  ASSERT_FALSE(builtin_node_names().empty());
  for (const std::string& name : builtin_node_names()) {
    const NodeSpec spec = parse_node(*builtin_node(name));
    EXPECT_EQ(spec.info.name, name);
  }
}

}  // namespace
}  // namespace gputopo::node
