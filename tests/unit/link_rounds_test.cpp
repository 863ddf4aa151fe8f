// Which transfers run at the same time.
#include "node/link_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace gputopo::node {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

NodeInfo node_of(std::uint32_t gpus, const std::string& kind) {
  NodeInfo info;
  info.gpus.resize(gpus);
  for (std::uint32_t i = 0; i < gpus; ++i) {
    for (std::uint32_t j = 0; j < gpus; ++j) {
      if (i != j) info.peers.push_back({.from = i, .to = j, .kind = kind, .lanes = 18, .is_reachable = true});
    }
  }
  return info;
}

Transfer between(std::uint32_t from, std::uint32_t to) {
  return {{EndpointKind::kGpu, from}, {EndpointKind::kGpu, to}};
}

std::vector<Transfer> transfers_of(const NodeInfo& info) {
  std::vector<Transfer> transfers{{{EndpointKind::kHost, 0}, {EndpointKind::kGpu, 0}}};
  for (const PeerLink& peer : info.peers) transfers.push_back(between(peer.from, peer.to));
  return transfers;
}

TEST(LinkRounds, HaveEachPairOnceAndNoGpuTwiceInOne) {
  for (const std::size_t gpus : {2, 3, 4, 5, 8, 16}) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const Round& round : disjoint_rounds(gpus)) {
      EXPECT_THAT(round, SizeIs(gpus / 2));
      std::set<std::uint32_t> used;
      for (const auto& [one, other] : round) {
        EXPECT_LT(one, other);
        EXPECT_LT(other, gpus);
        EXPECT_TRUE(used.insert(one).second && used.insert(other).second);
        pairs.insert({one, other});
      }
    }
    EXPECT_THAT(pairs, SizeIs(gpus * (gpus - 1) / 2)) << gpus;
  }
}

TEST(LinkRounds, AreOfNodesWithOneSwitch) {
  const NodeInfo info = node_of(4, "nvswitch");
  const std::vector<Transfer> transfers = transfers_of(info);
  const std::vector<Batch> batches = batches_of(info, transfers);
  EXPECT_THAT(batches[0], ElementsAre(transfers[0]));
  // The reference for the other transfers.
  EXPECT_THAT(batches[1], ElementsAre(between(0, 3)));
  EXPECT_THAT(batches[2], ElementsAre(between(1, 2)));
  std::set<std::pair<std::uint32_t, std::uint32_t>> found;
  for (const Batch& batch : batches) {
    EXPECT_LE(batch.size(), 2u);
    for (const Transfer& transfer : batch) found.insert({transfer.from.index, transfer.to.index});
  }
  EXPECT_THAT(batches, SizeIs(3 + 5));
  EXPECT_THAT(found, SizeIs(12 + 1));  // the host's transfer counts as (0, 0)
}

TEST(LinkRounds, LeaveLinksAloneThatMayMeet) {
  NodeInfo differs = node_of(8, "nvswitch");
  differs.peers[5].lanes = 12;
  for (const NodeInfo& info : {node_of(4, "nvlink"), node_of(2, "nvswitch"), node_of(3, "nvswitch"), differs}) {
    const std::vector<Transfer> transfers = transfers_of(info);
    EXPECT_THAT(batches_of(info, transfers), SizeIs(transfers.size()));
  }
}

TEST(LinkRounds, WhatHasAnotherRateThanAloneIsAskedAlone) {
  const std::vector<double> alone{396.6e9, 396.5e9, 396.7e9};
  EXPECT_TRUE(matches_solo_rate({396.5e9, 396.1e9, 396.9e9}, alone));
  EXPECT_FALSE(matches_solo_rate({198.3e9, 198.2e9, 198.4e9}, alone));  // two on one link
  EXPECT_FALSE(matches_solo_rate({420e9, 419e9, 421e9}, alone));        // one that may get even faster
  EXPECT_FALSE(matches_solo_rate({396.5e9, 300e9, 396.9e9}, alone));    // disturbed
  EXPECT_FALSE(matches_solo_rate({396.5e9, 396.1e9, 396.9e9}, {}));     // nothing is known
  // Links differ: this one may be slowed down to the rate of another.
  EXPECT_FALSE(matches_solo_rate({130e9, 129e9, 131e9}, std::vector{130e9, 257e9}));
}

}  // namespace
}  // namespace gputopo::node
