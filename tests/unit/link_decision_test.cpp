// From samples of transfers to values.
#include "node/link_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::node {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(LinkDecision, TakesTheMedianBetweenTheLeastAndTheGreatest) {
  const Estimate estimate = node::estimate(std::vector{5.0, 1.0, 3.0, 2.0, 9.0});
  EXPECT_EQ(estimate.value, 3);
  EXPECT_EQ(estimate.low, 1);
  EXPECT_EQ(estimate.high, 9);
  EXPECT_NEAR(estimate.spread(), 8.0 / 3, 1e-12);
  EXPECT_EQ(node::estimate({}).value, 0);
}

// time = 2 us + bytes / 50 GB/s, so half the rate is reached at 2 us * 50 GB/s = 100 kB.
std::vector<SizeSample> sweep(double overhead_seconds) {
  std::vector<SizeSample> samples;
  for (std::uint64_t bytes = 4096; bytes <= 64u << 20; bytes *= 4) {
    samples.push_back({bytes, overhead_seconds + static_cast<double>(bytes) / 50e9});
  }
  return samples;
}

TEST(LinkDecision, FindsTheSizeOfHalfTheBandwidth) {
  const Estimate size = half_bandwidth_size(std::vector{sweep(2e-6), sweep(2.2e-6), sweep(1.8e-6)}, {50e9, 49e9, 51e9});
  EXPECT_NEAR(size.value, 100e3, 1);
  EXPECT_LT(size.low, size.value);
  EXPECT_GT(size.high, size.value);
}

TEST(LinkDecision, FindsNoSizeWhereNoneIsThere) {
  EXPECT_EQ(half_bandwidth_size(std::vector<std::vector<SizeSample>>{sweep(0)}, {50e9, 50e9, 50e9}).value,
            0);  // all of them reach half the bandwidth
  EXPECT_EQ(half_bandwidth_size(std::vector<std::vector<SizeSample>>{sweep(2e-6)}, {5e12, 5e12, 5e12}).value,
            0);  // none does
  EXPECT_EQ(half_bandwidth_size(std::vector{sweep(2e-6), sweep(0)}, {50e9, 50e9, 50e9}).value, 0);
}

TEST(LinkDecision, TellsWhatTwoGetWhileBothRun) {
  // 100 bytes each: one takes 2 s; the other gets 20 B/s for 2 s and 60 B/s for the last second.
  EXPECT_THAT(rates_beside(100, std::vector{2.0, 3.0}, std::vector{60.0, 60.0}),
              ElementsAre(DoubleNear(50, 1e-9), DoubleNear(20, 1e-9)));
  EXPECT_THAT(rates_beside(100, std::vector{2.0, 2.0}, std::vector{60.0, 60.0}),
              ElementsAre(DoubleNear(50, 1e-9), DoubleNear(50, 1e-9)));
}

TEST(LinkDecision, ComparesRatesWithThoseAlone) {
  EXPECT_THAT(shares(std::vector{50.0, 40.0}, std::vector{25.0, 40.0}),
              ElementsAre(DoubleNear(0.5, 1e-9), DoubleNear(1, 1e-9)));
}

// An H200 node with two groups of four GPUs (2026-11-26): two GPUs of one group, one of each, and an unclear pair.
TEST(LinkDecision, TellsWhoSharesAPartByEveryRun) {
  EXPECT_EQ(decide_sharing(std::vector{0.721, 0.746, 0.740}), Sharing::kAPart);
  EXPECT_EQ(decide_sharing(std::vector{0.981, 0.987, 0.989}), Sharing::kNothing);
  EXPECT_EQ(decide_sharing(std::vector{0.838, 0.841, 0.903}), Sharing::kUnclear);
}

TEST(LinkDecision, AsksNoMoreThanDecidesWhoSharesAPart) {
  EXPECT_FALSE(is_decided({}));
  EXPECT_TRUE(is_decided(std::vector{0.956}));
  EXPECT_FALSE(is_decided(std::vector{0.914}));  // other traffic may have lowered it
  EXPECT_FALSE(is_decided(std::vector{0.721}));  // other traffic may have caused it
  EXPECT_TRUE(is_decided(std::vector{0.721, 0.746}));
  EXPECT_FALSE(is_decided(std::vector{0.721, 0.885}));
  EXPECT_TRUE(is_decided(std::vector{0.838, 0.903}));  // remains unclear
  EXPECT_FALSE(is_decided(std::vector{0.914, 0.921}));
  EXPECT_TRUE(is_decided(std::vector{0.914, 0.921, 0.915}));
}

TEST(LinkDecision, TellsAWayFromADisturbance) {
  EXPECT_TRUE(have_similar_spread(0.17, 0.14));
  EXPECT_TRUE(have_similar_spread(0.13, 0.17));
  EXPECT_FALSE(have_similar_spread(0.02, 0.40));
  EXPECT_FALSE(have_similar_spread(0.40, 0.12));
}

// Four H200: each of three copies from one GPU takes 2.7 ms, as it does alone, but the engine serves them in turn.
TEST(LinkDecision, CopiesInTurnDoNotAddUp) {
  const AtOnce in_turn = concurrent_rates(1.2, std::vector{3.0, 3.0, 3.0}, std::vector{0.0, 3.0, 6.0});
  EXPECT_TRUE(in_turn.in_turn);
  EXPECT_DOUBLE_EQ(in_turn.total, 0.4);
  EXPECT_DOUBLE_EQ(in_turn.rates.back(), 1.2 / 9);
  const AtOnce at_once = concurrent_rates(1.2, std::vector{3.0, 3.0, 4.0}, std::vector{0.0, 0.01, 0.02});
  EXPECT_FALSE(at_once.in_turn);
  EXPECT_DOUBLE_EQ(at_once.total, 1.1);
  // Devices that do not report start times.
  EXPECT_DOUBLE_EQ(concurrent_rates(1.2, std::vector{3.0, 3.0}, {}).total, 0.8);
}

}  // namespace
}  // namespace gputopo::node
