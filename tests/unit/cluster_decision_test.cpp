// From chases and reads in clusters to GPCs, latency and bandwidth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "probe/cluster/bandwidth_decision.h"
#include "probe/cluster/gpcs_decision.h"
#include "probe/cluster/latency_decision.h"

namespace gputopo::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(MetInClusters, AreSmsThatClustersConnect) {
  const MetInClusters found = sms_that_met({{0, 2}, {2, 4}, {1, 3}, {5, 3}});
  EXPECT_THAT(found.groups, ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)));
  EXPECT_EQ(found.sms_seen, 6u);
}

TEST(MetInClusters, LeaveOutSmsThatWereNeverSeen) {
  const MetInClusters found = sms_that_met({{7, 9}, {2, 4}});
  EXPECT_THAT(found.groups, ElementsAre(ElementsAre(2, 4), ElementsAre(7, 9)));
  EXPECT_EQ(found.sms_seen, 4u);
}

TEST(MetInClusters, OfNothing) {
  EXPECT_THAT(sms_that_met({}).groups, IsEmpty());
  EXPECT_THAT(sms_that_met({{3}}).groups, ElementsAre(ElementsAre(3)));
}

// On an H200, some TPCs never share a cluster with others, and their clocks tell their GPC.
TEST(Gpcs, AreSmsWhoseClocksAgree) {
  const auto gpcs = decide_gpcs({{0, 1, 4, 5}, {2, 3, 6, 7}, {8, 9}}, {{0, 1, 4, 5, 8, 9}, {2, 3, 6, 7}});
  ASSERT_TRUE(gpcs.value) << gpcs.why_not;
  EXPECT_THAT(*gpcs.value, ElementsAre(ElementsAre(0, 1, 4, 5, 8, 9), ElementsAre(2, 3, 6, 7)));
}

TEST(Gpcs, AreNotToldByClocksThatAllAgree) {
  EXPECT_THAT(decide_gpcs({{0, 1}, {2, 3}}, {{0, 1, 2, 3}}).why_not, HasSubstr("all SMs agree"));
  EXPECT_THAT(decide_gpcs({{0, 1}}, {}).why_not, HasSubstr("all SMs agree"));
}

TEST(Gpcs, AreNotToldByClocksThatContradictClusters) {
  EXPECT_THAT(decide_gpcs({{0, 1, 2}}, {{0, 1}, {2, 3}}).why_not, HasSubstr("do not agree"));
}

// Two GPCs whose clocks started together.
TEST(Gpcs, AreNotOneBecauseTheirClocksAgree) {
  EXPECT_THAT(decide_gpcs({{0, 1, 2, 3}, {4, 5, 6, 7}}, {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9}}).why_not,
              HasSubstr("may be one GPC or two"));
}

// Two copies of clusters of two and of four, in which SMs 0 to 3 read from one another.
std::vector<ClusterChase> chases() {
  std::vector<ClusterChase> result;
  for (const std::uint32_t copy : {0u, 1u}) {
    const double later = copy;  // the second copy takes one cycle more
    result.push_back({2, 0, 0, 0, copy, 30 + later});
    result.push_back({2, 1, 0, 1, copy, 180 + later});
    result.push_back({4, 1, 0, 1, copy, 190 + later});
    result.push_back({4, 2, 0, 2, copy, 200 + later});
    result.push_back({4, 3, 0, 3, copy, 210 + later});
  }
  return result;
}

TEST(ClusterLatency, IsTheMeanOverPairsOfTheLargestClusters) {
  const auto decision = decide_cluster_latency(chases(), 4);
  ASSERT_TRUE(decision.value) << decision.why_not;
  const ClusterLatency& found = *decision.value;
  EXPECT_DOUBLE_EQ(found.cycles, 200.5);
  EXPECT_LE(found.interval.low, 200);
  EXPECT_GE(found.interval.high, 201);
  EXPECT_DOUBLE_EQ(found.nearest_cycles, 180.5) << "of all sizes";
  EXPECT_DOUBLE_EQ(found.farthest_cycles, 210.5);
  EXPECT_DOUBLE_EQ(found.own_cycles, 30.5);
  EXPECT_THAT(found.by_size_cycles, ElementsAre(Pair(2, 180.5), Pair(4, 200.5)));
  EXPECT_THAT(found.by_pair_cycles,
              ElementsAre(Pair(Pair(0, 1), 190.5), Pair(Pair(0, 2), 200.5), Pair(Pair(0, 3), 210.5)));
  EXPECT_DOUBLE_EQ(found.by_rank_cycles.at({4, 2}), 200.5);
}

// A pair that occurs in many clusters counts once.
TEST(ClusterLatency, WeighsEveryPairAlike) {
  std::vector<ClusterChase> of_pairs = chases();
  for (std::uint32_t i = 0; i < 20; ++i) of_pairs.push_back({4, 1, 0, 1, 0, 190});
  EXPECT_NEAR(decide_cluster_latency(of_pairs, 4).value->cycles, 200.2, 0.2);
}

TEST(ClusterLatency, IsNotMovedByADisturbedCopy) {
  std::vector<ClusterChase> disturbed = chases();
  disturbed.push_back({4, 1, 0, 1, 2, 900});
  EXPECT_NEAR(decide_cluster_latency(disturbed, 4).value->cycles, 200.6, 0.2);
}

TEST(ClusterLatency, OfOneChase) {
  const std::vector<ClusterChase> one = {{2, 1, 4, 5, 0, 200}};
  const auto decision = decide_cluster_latency(one, 2);
  ASSERT_TRUE(decision.value);
  EXPECT_DOUBLE_EQ(decision.value->cycles, 200);
  EXPECT_DOUBLE_EQ(decision.value->interval.low, 199) << "no surer than the clock";
  EXPECT_DOUBLE_EQ(decision.value->own_cycles, 0);
}

TEST(ClusterLatency, NeedsChasesThatLeaveTheSm) {
  EXPECT_THAT(decide_cluster_latency({}, 4).why_not, HasSubstr("in a cluster of the largest size"));
  const std::vector<ClusterChase> own = {{4, 0, 0, 0, 0, 30}};
  EXPECT_FALSE(decide_cluster_latency(own, 4).value);
  EXPECT_FALSE(decide_cluster_latency(chases(), 8).value);
}

TEST(ClusterLatency, SaysSoOfLoadsThatDidNotRun) {
  std::vector<ClusterChase> impossible = chases();
  for (ClusterChase& chase : impossible) chase.cycles = chase.target_sm == 3 ? 3 : chase.cycles;
  const auto decision = decide_cluster_latency(impossible, 4);
  EXPECT_FALSE(decision.value);
  EXPECT_THAT(decision.why_not, HasSubstr("took 3.0 cycles, which is impossible"));
}

TEST(ClusterRates, AreTheBestOfEachSize) {
  const std::vector<ClusterReads> reads = {{2, 1, 8, 3e12}, {2, 1, 32, 4e12},   {8, 1, 8, 3.5e12},
                                           {8, 4, 8, 2e12}, {8, 1, 32, 3.6e12}, {8, 4, 32, 2.5e12}};
  const auto decision = decide_cluster_rates(reads, std::vector<std::uint32_t>{2, 8});
  ASSERT_TRUE(decision.value) << decision.why_not;
  EXPECT_EQ(decision.value->best, 1u);
  EXPECT_THAT(decision.value->ring, ElementsAre(4e12, 3.6e12));
  EXPECT_THAT(decision.value->half_way, ElementsAre(4e12, 2.5e12)) << "clusters of two have no other way round";
}

TEST(ClusterRates, AreTheFirstOfThoseThatAreAlike) {
  const std::vector<ClusterReads> reads = {{2, 1, 8, 4e12}, {2, 1, 32, 4e12}, {3, 1, 8, 4e12}};
  EXPECT_EQ(decide_cluster_rates(reads, std::vector<std::uint32_t>{2, 3}).value->best, 0u);
}

TEST(ClusterRates, NeedReadsOfEverySize) {
  const std::vector<ClusterReads> reads = {{2, 1, 8, 4e12}, {4, 1, 8, 4e12}};
  EXPECT_THAT(decide_cluster_rates(reads, std::vector<std::uint32_t>{2, 4}).why_not, HasSubstr("4-block clusters"));
  EXPECT_FALSE(decide_cluster_rates({}, {}).value);
}

}  // namespace
}  // namespace gputopo::probe
