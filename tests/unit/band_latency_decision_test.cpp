// The latency of loads of one level among those of others.
#include "probe/band_latency_decision.h"

#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

stats::Histogram cycles_of(std::initializer_list<std::pair<int, std::uint32_t>> counts) {
  stats::Histogram histogram(512);
  for (const auto& [cycles, count] : counts) histogram[static_cast<std::size_t>(cycles / 2)] += count;
  return histogram;
}

TEST(BandLatency, OnlyLoadsInTheBandCount) {
  const stats::Histogram histogram = cycles_of({{30, 500}, {200, 500}, {204, 500}});
  EXPECT_DOUBLE_EQ(timed_mean(histogram, 100, 400, 40).value(), 202.5 - 40);
  EXPECT_DOUBLE_EQ(timed_mean(histogram, 0, 100, 40).value(), 30.5 - 40);
}

TEST(BandLatency, TheSlowestHundredthIsLeftOut) {
  EXPECT_DOUBLE_EQ(timed_mean(cycles_of({{200, 995}, {390, 5}}), 100, 400, 0).value(), 200.5);
  EXPECT_GT(timed_mean(cycles_of({{200, 900}, {390, 100}}), 100, 400, 0).value(), 210) << "a tenth is no outlier";
}

TEST(BandLatency, TooFewLoadsTellNothing) {
  EXPECT_FALSE(timed_mean(cycles_of({{30, 1000}, {200, 7}}), 100, 400, 0));
  EXPECT_FALSE(timed_mean({}, 100, 400, 0));
  EXPECT_FALSE(timed_mean(cycles_of({{200, 1}}), 100, 400, 0)) << "one sample";
  EXPECT_DOUBLE_EQ(timed_mean(cycles_of({{200, 8}}), 100, 400, 0).value(), 200.5) << "all equal";
}

TEST(BandLatency, UntimedChainsTellWhereNearlyAllIsInTheBand) {
  EXPECT_TRUE(is_nearly_all_in_band(cycles_of({{30, 50}, {200, 945}, {600, 5}}), 100, 400));
  EXPECT_FALSE(is_nearly_all_in_band(cycles_of({{30, 60}, {200, 940}}), 100, 400)) << "a part hits nearer";
  EXPECT_FALSE(is_nearly_all_in_band(cycles_of({{200, 980}, {600, 20}}), 100, 400)) << "a part misses";
  // Two modes that touch at the end of the band are of both.
  EXPECT_FALSE(is_nearly_all_in_band(cycles_of({{396, 500}, {402, 500}}), 100, 400));
}

TEST(BandLatency, WhatHitsNearerIsTakenOff) {
  const stats::Histogram histogram = cycles_of({{30, 50}, {200, 950}});
  // Untimed, a nearer load takes 20.5 and one of the band 180.
  const double chain = 0.05 * 20.5 + 0.95 * 180;
  const std::vector<double> means = without_nearer(std::vector<double>{chain, chain}, histogram, 100, 10);
  ASSERT_EQ(means.size(), 2u);
  EXPECT_NEAR(means[0], 180, 1e-9);
  EXPECT_EQ(without_nearer(std::vector<double>{150}, cycles_of({{200, 10}}), 100, 10).front(), 150) << "nothing nearer";
}

}  // namespace
}  // namespace gputopo::probe
