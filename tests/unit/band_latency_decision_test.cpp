// The latency of loads of one level in a mix of levels.
#include "probe/survey/band_latency_decision.h"

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
  EXPECT_TRUE(is_nearly_all_in_band(cycles_of({{30, 2}, {200, 983}, {600, 15}}), 100, 400));
  EXPECT_FALSE(is_nearly_all_in_band(cycles_of({{30, 60}, {200, 940}}), 100, 400)) << "a part hits nearer";
  EXPECT_FALSE(is_nearly_all_in_band(cycles_of({{200, 970}, {600, 30}}), 100, 400)) << "a part misses";
  // Two modes that touch at the end of the band count for both sides.
  EXPECT_FALSE(is_nearly_all_in_band(cycles_of({{396, 500}, {402, 500}}), 100, 400));
}

// Segments of loads that take `load` cycles each, with `pass` more for each pass of the loop and `ends` for both ends.
std::vector<Segment> segments_with(double load, double pass, double ends) {
  std::vector<Segment> segments;
  for (int i = 0; i < 65; ++i) {
    for (const std::uint64_t loads : {7, 15, 16, 48}) {
      const std::uint64_t passes = loads / 16 + loads % 16;
      segments.push_back({loads, ends + static_cast<double>(loads) * load + static_cast<double>(passes) * pass});
    }
  }
  return segments;
}

TEST(ChainCost, IsOfTheLoadAlone) {
  const ChainCost cost = chain_cost(segments_with(30, 0, 0));
  EXPECT_NEAR(cost.load_cycles, 30, 1e-6);
  EXPECT_NEAR(cost.pass_cycles, 0, 1e-6);
}

TEST(ChainCost, LeavesOutTheLoopAndTheEnds) {
  const ChainCost cost = chain_cost(segments_with(30, 5, 70));
  EXPECT_NEAR(cost.load_cycles, 30, 1e-6);
  EXPECT_NEAR(cost.pass_cycles, 5, 1e-6);
}

// Outliers of 300 cycles in every second of the longest segments and in every eighth of the others.
TEST(ChainCost, LeavesOutDisturbedSegments) {
  std::vector<Segment> segments = segments_with(30, 5, 70);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::size_t every = segments[i].loads == 48 ? 2 : 8;
    if (i / 4 % every == 0) segments[i].cycles += 300;
  }
  EXPECT_NEAR(chain_cost(segments).load_cycles, 30, 0.05);
}

}  // namespace
}  // namespace gputopo::probe
