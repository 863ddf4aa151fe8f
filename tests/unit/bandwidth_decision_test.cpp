// From the rates of shapes to the best shape, and from its runs to a value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "probe/bandwidth/best_shape_decision.h"

namespace gputopo::probe {
namespace {

using ::testing::ElementsAre;

std::optional<std::size_t> best(const std::vector<double>& rates) { return best_shape(rates); }
Rate rate(const std::vector<double>& rates) { return rate_of_runs(rates); }

TEST(BestShape, IsTheFastest) {
  EXPECT_EQ(best({3e12, 4e12, 3.5e12}), 1u);
  EXPECT_EQ(best({3e12}), 0u);
}

TEST(BestShape, IsTheFirstOfThoseThatAreAlike) {
  EXPECT_EQ(best({4e12, 4e12, 4e12}), 0u);
  EXPECT_EQ(best({0, 4e12, 4e12}), 1u);
}

TEST(BestShape, IsNoneThatEndedWithinTheTimersResolution) {
  EXPECT_EQ(best({0, 0}), std::nullopt);
  EXPECT_EQ(best({}), std::nullopt);
}

TEST(BestShapes, AreTheFastestAndTheFirstOfThoseThatAreAlike) {
  EXPECT_THAT(best_shapes(std::vector<double>{1, 4, 3, 4, 2}, 3), ElementsAre(1, 3, 2));
  EXPECT_THAT(best_shapes(std::vector<double>{1, 4}, 3), ElementsAre(1, 0));
}

// The interval is no narrower than clock drift: half a percent to either side.
TEST(Settled, AreRunsThatDifferByLessThanTheClocksDrift) {
  EXPECT_TRUE(is_settled(std::vector<double>{1000, 1001, 999, 1000, 1000}));
  EXPECT_FALSE(is_settled(std::vector<double>{1000, 1010, 990, 1000, 1000}));
}

TEST(RateOfRuns, IsTheMedianWithTheIntervalOfTheMean) {
  const Rate found = rate({10, 11, 9, 10, 10, 11, 9, 10, 10});
  EXPECT_DOUBLE_EQ(found.bytes_per_second, 10);
  EXPECT_NEAR(found.interval.low, 10 - 0.54, 0.02);
  EXPECT_NEAR(found.interval.high, 10 + 0.54, 0.02);
}

// With occasional disturbed runs, the mean's interval lies below the median, but must contain it within clock drift.
TEST(RateOfRuns, HoldsItsMedian) {
  const Rate found = rate({10, 10, 10, 10, 10, 9.9, 9.9, 9.9, 9.9});
  EXPECT_DOUBLE_EQ(found.bytes_per_second, 10);
  EXPECT_DOUBLE_EQ(found.interval.high, 10.05);
  EXPECT_LT(found.interval.low, 9.95);
}

TEST(RateOfRuns, OfEqualRunsAndOfOne) {
  EXPECT_DOUBLE_EQ(rate({10, 10, 10}).interval.low, 9.95);
  EXPECT_DOUBLE_EQ(rate({10}).interval.high, 10.05);
}

}  // namespace
}  // namespace gputopo::probe
