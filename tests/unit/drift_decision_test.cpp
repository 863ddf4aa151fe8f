// Whether latencies moved while a discovery ran.
#include "probe/drift_decision.h"

#include <gtest/gtest.h>

#include <vector>

namespace gputopo::probe {
namespace {

TEST(Drift, IsNoneOfFewLooksAndOfNoise) {
  EXPECT_FALSE(drift_of({}));
  EXPECT_FALSE(drift_of(std::vector<double>{250}));
  EXPECT_FALSE(drift_of(std::vector<double>{250, 250.4, 249.8}));
}

TEST(Drift, IsWhatTheLooksDifferByFromTheFirst) {
  const auto drift = drift_of(std::vector<double>{250, 255, 250, 245});
  ASSERT_TRUE(drift);
  EXPECT_NEAR(drift->low, -0.02, 1e-9);
  EXPECT_NEAR(drift->high, 0.02, 1e-9);
  EXPECT_FALSE(is_remarkable(*drift));
  EXPECT_TRUE(is_remarkable(*drift_of(std::vector<double>{250, 280})));
}

TEST(Drift, IsNoneWhereOneLookWasBesideAnotherProgram) {
  EXPECT_FALSE(drift_of(std::vector<double>{276.1, 275.0, 283.7, 276.1, 276.1, 276.1, 276.0, 276.1}));
}

// Where each look has lines at other distances.
TEST(Drift, IsNoneWhereLooksDifferAtRandom) {
  EXPECT_FALSE(drift_of(std::vector<double>{250, 254, 248, 252, 247, 253, 249, 255, 250, 246}));
  EXPECT_TRUE(drift_of(std::vector<double>{250, 251, 252, 253, 254, 254, 254, 253, 252, 251, 250}));
}

TEST(Drift, WidensAnInterval) {
  const stats::Interval wider = with_drift({99, 101}, {-0.02, 0.01});
  EXPECT_NEAR(wider.low, 99 / 1.01, 1e-9);
  EXPECT_NEAR(wider.high, 101 / 0.98, 1e-9);
  const stats::Interval upwards = with_drift({99, 101}, {0, 0.01});
  EXPECT_DOUBLE_EQ(upwards.high, 101);
}

}  // namespace
}  // namespace gputopo::probe
