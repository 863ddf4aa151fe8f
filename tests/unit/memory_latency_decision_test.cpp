// Whether lines were evicted from the last cache, and the sides of memory.
#include "probe/latency/memory_latency_decision.h"

#include <gtest/gtest.h>

#include <vector>

#include "gputopo/program.h"

namespace gputopo::probe {
namespace {

// The given number of loads around each latency, within four cycles.
stats::Histogram loads_around(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& counts) {
  stats::Histogram histogram(kHistogramBins);
  for (const auto& [cycles, count] : counts) {
    for (std::uint32_t bin = cycles / 2 - 2; bin <= cycles / 2 + 2; ++bin) histogram[bin] += count / 5;
  }
  return histogram;
}

const stats::Histogram kHits = loads_around({{200, 2000}});

TEST(SweptLoads, AreToldByLoadsOfTheSameLinesAgain) {
  const SweptLoads found = swept_loads(loads_around({{200, 100}, {500, 1900}}), kHits, 350);
  EXPECT_NEAR(found.like_hits, 0.05, 1e-9);
  EXPECT_NEAR(found.in_band, 0.05, 1e-9);
}

// A small L2 of few ways: some of the lines are evicted before they are loaded again.
TEST(SweptLoads, AreNoHitsWhereSomeOfTheLinesAgainMissToo) {
  const SweptLoads found = swept_loads(loads_around({{342, 2000}}), loads_around({{136, 1700}, {342, 300}}), 214);
  EXPECT_EQ(found.like_hits, 0);
  EXPECT_EQ(found.in_band, 0);
}

// The loads that the survey took for memory are hits in a far part.
TEST(SweptLoads, AreHitsOfAFarPartBeyondTheSurveysBand) {
  const SweptLoads found = swept_loads(loads_around({{340, 2000}}), loads_around({{200, 1000}, {340, 1000}}), 260);
  EXPECT_EQ(found.like_hits, 1);
}

TEST(Evicted, OneSweepThatLeavesNothing) {
  EXPECT_TRUE(are_evicted(std::vector<SweptLoads>{{0, 0}}, true));
  EXPECT_TRUE(are_evicted(std::vector<SweptLoads>{{0.001, 0.001}}, true));
}

// A third level of unknown size, which the evictor does not fill. The survey saw memory beyond it.
TEST(Evicted, NotWhereNearlyAllIsWhereTheSurveySawHits) {
  EXPECT_FALSE(are_evicted(std::vector<SweptLoads>{{0, 1}, {0, 1}}, false));
  EXPECT_TRUE(are_evicted(std::vector<SweptLoads>{{0, 0.5}, {0, 0.5}}, false)) << "memory near the SM";
  EXPECT_FALSE(are_evicted(std::vector<SweptLoads>{{0, 0.95}, {0, 0.85}}, false)) << "twice as much evicts more of it";
  EXPECT_TRUE(are_evicted(std::vector<SweptLoads>{{0, 1}, {0, 1}}, true)) << "misses of a TLB, to the survey";
}

// A cache with random replacement keeps one line in twenty after each sweep.
TEST(Evicted, MoreSweepsOfACacheThatReplacesAtRandom) {
  EXPECT_FALSE(are_evicted(std::vector<SweptLoads>{{0.05, 0.05}}, true));
  EXPECT_FALSE(are_kept(std::vector<SweptLoads>{{0.05, 0.05}}));
  EXPECT_FALSE(are_kept(std::vector<SweptLoads>{{0.05, 0.05}, {0.008, 0.008}}));
  EXPECT_FALSE(are_evicted(std::vector<SweptLoads>{{0.05, 0.05}, {0.008, 0.008}}, true));
  EXPECT_TRUE(are_evicted(std::vector<SweptLoads>{{0.05, 0.05}, {0.008, 0.008}, {0, 0}}, true));
}

// The loads of the evictor are too far apart, so no sweep evicts these lines.
TEST(Evicted, NothingByAnEvictorWhoseLoadsAreTooFarApart) {
  const std::vector<SweptLoads> sweeps = {{0.98, 0.98}, {0.98, 0.98}};
  EXPECT_FALSE(are_evicted(sweeps, true));
  EXPECT_TRUE(are_kept(sweeps));
}

// Near memory is as fast as the far part of the cache, so another sweep does not change the result.
TEST(Evicted, WhereNearMemoryIsAsQuickAsFarHits) {
  EXPECT_FALSE(are_evicted(std::vector<SweptLoads>{{0, 0.4}}, true));
  EXPECT_TRUE(are_evicted(std::vector<SweptLoads>{{0, 0.4}, {0, 0.41}}, true));
  EXPECT_FALSE(are_evicted(std::vector<SweptLoads>{{0, 0.4}, {0, 0.1}}, true)) << "these were lines of the far part";
}

// Latencies of an H200, including the timer: a line is near or far depending on its home.
TEST(BetweenSides, AreTwoThatStandApart) {
  const auto between = near_far_boundary(
      loads_around({{560, 200}, {580, 250}, {600, 100}, {730, 100}, {750, 250}, {780, 150}, {1000, 20}}));
  ASSERT_TRUE(between);
  EXPECT_GT(*between, 610);
  EXPECT_LT(*between, 720);
}

TEST(BetweenSides, AreNoneOfOneAndOfATail) {
  EXPECT_FALSE(near_far_boundary(loads_around({{500, 1000}})));
  EXPECT_FALSE(near_far_boundary(loads_around({{500, 1000}, {900, 50}}))) << "outliers";
  EXPECT_FALSE(near_far_boundary(loads_around({{480, 300}, {500, 500}, {520, 300}}))) << "slices";
  EXPECT_FALSE(near_far_boundary({}));
}

}  // namespace
}  // namespace gputopo::probe
