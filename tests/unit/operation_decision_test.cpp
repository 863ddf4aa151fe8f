// The cost of an operation, from literal cycles.
#include "probe/compute/operation_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

using testing::HasSubstr;

TEST(OperationLatency, IsWhatMoreRoundsTookLonger) {
  const auto decision = decide_operation_latency({2, {4160, 4160, 4160}}, {6, {12400, 12400, 12400}}, 512);
  ASSERT_TRUE(decision.value);
  EXPECT_NEAR(decision.value->value, (2060.0 - 12) / 512, 1e-9);
  // The loop may have taken this much of it.
  EXPECT_NEAR(decision.value->interval.low, (2060.0 - 24) / 512, 1e-9);
  EXPECT_NEAR(decision.value->interval.high, 2060.0 / 512, 1e-9);
}

TEST(OperationLatency, IsNoneWhereMoreRoundsTookNoLonger) {
  const auto decision = decide_operation_latency({2, {500}}, {6, {500}}, 512);
  EXPECT_FALSE(decision.value);
  EXPECT_THAT(decision.why_not, HasSubstr("took no longer"));
  EXPECT_FALSE(decide_operation_latency({2, {}}, {6, {500}}, 512).value);
  EXPECT_FALSE(decide_operation_latency({6, {100}}, {6, {500}}, 512).value);
}

TEST(OperationLatency, IsNoneWhereCopiesDiffer) {
  const auto decision = decide_operation_latency({2, {4000, 4000}}, {6, {12000, 13000}}, 512);
  EXPECT_FALSE(decision.value);
  EXPECT_THAT(decision.why_not, HasSubstr("12000 to 13000 cycles"));
}

TEST(OperationLatency, HasAnIntervalThatHoldsAllCopies) {
  const auto decision = decide_operation_latency({2, {4000, 4000, 4000}}, {6, {12000, 12010, 12100}}, 500);
  ASSERT_TRUE(decision.value);
  EXPECT_NEAR(decision.value->value, (8010.0 / 4 - 12) / 500, 1e-9);
  EXPECT_NEAR(decision.value->interval.low, (8000.0 / 4 - 24) / 500, 1e-9);
  EXPECT_NEAR(decision.value->interval.high, 8100.0 / 4 / 500, 1e-9);
}

TEST(OperationThroughput, CountsTheOperationsOfAllLanes) {
  // 32 warps of 32 lanes, 512 operations each, in 4096 cycles per round.
  const auto decision = decide_operation_throughput({2, {8300, 8310}}, {6, {24684, 24694}}, 512, 1024);
  ASSERT_TRUE(decision.value);
  EXPECT_NEAR(decision.value->value, 128, 0.1);
  EXPECT_LE(decision.value->interval.low, decision.value->value);
  EXPECT_GE(decision.value->interval.high, decision.value->value);
}

TEST(OperationThroughput, LeavesOutOneBlockOfMany) {
  std::vector<double> cycles(20, 24000);
  cycles[7] = 90000;
  const auto decision = decide_operation_throughput({2, std::vector<double>(20, 8000)}, {6, cycles}, 512, 1024);
  ASSERT_TRUE(decision.value);
  EXPECT_NEAR(decision.value->value, 131.072, 0.001);
}

TEST(OperationThroughput, IsNoneWhereSmsDiffer) {
  EXPECT_FALSE(decide_operation_throughput({2, {8000, 8000}}, {6, {24000, 28000}}, 512, 1024).value);
}

// A GPU that lowers its clock after half a second, and whose energy counter changes at every third launch.
TEST(OperationRates, StopRisingIfMoreChainsReachNoMore) {
  const std::vector<ChainRate> of_an_h200 = {{4, 4.02}, {8, 7.998}, {16, 7.998}, {32, 7.997}};  // mma.m8n8k4.f64
  EXPECT_TRUE(has_stopped_rising(of_an_h200));
  const std::vector<ChainRate> fewer_do_more = {{8, 8}, {16, 6}};
  EXPECT_TRUE(has_stopped_rising(fewer_do_more));
  const std::vector<ChainRate> rises = {{8, 16}, {16, 31.9}, {32, 63.5}};
  EXPECT_FALSE(has_stopped_rising(rises)) << "twice as many chains do twice as much";
  const std::vector<ChainRate> nearly_as_many = {{28, 63.4}, {32, 63.5}};
  EXPECT_FALSE(has_stopped_rising(nearly_as_many)) << "what a seventh more does is noise";
  EXPECT_FALSE(has_stopped_rising({}));
}

TEST(DecideSustained, TakesWhatIsLeftAfterASecond) {
  std::vector<SustainedLaunch> launches;
  for (int i = 0; i < 40; ++i) {
    const double rate = i < 10 ? 1000 : i % 2 == 0 ? 890 : 900;
    launches.push_back({rate, 0.05, i % 3 == 2 ? 105.0 : 0.0});
  }
  const Decision<Sustained> decision = decide_sustained(launches);
  ASSERT_TRUE(decision.value) << decision.why_not;
  EXPECT_NEAR(decision.value->per_second, 895, 5.1);
  EXPECT_EQ(decision.value->interval.low, 890);
  EXPECT_EQ(decision.value->interval.high, 900);
  EXPECT_NEAR(decision.value->seconds, 1, 0.06);
  EXPECT_NEAR(decision.value->watts, 700, 40);
}

TEST(DecideSustained, NeedsMoreThanASecond) {
  const std::vector<SustainedLaunch> launches(10, {1000, 0.05, 0});
  const Decision<Sustained> decision = decide_sustained(launches);
  EXPECT_FALSE(decision.value);
  EXPECT_EQ(decision.why_not,
            "10 launches of 0.50 s in total: no launch began after the first 1 s, and earlier launches do not count");
}

TEST(DecideSustained, SaysNoPowerThatNobodyTells) {
  const std::vector<SustainedLaunch> launches(60, {1000, 0.05, 0});
  EXPECT_EQ(decide_sustained(launches).value->watts, 0);
}

}  // namespace
}  // namespace gputopo::probe
