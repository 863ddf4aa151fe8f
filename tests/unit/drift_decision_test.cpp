// Whether latencies drifted during a discovery.
#include "probe/latency/drift_decision.h"

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

// Looks vary at random by 2%. That much drift may hide in them, and the first look may be off as well.
TEST(Drift, IsWhatRandomLooksMayHide) {
  const auto hidden = drift_of(std::vector<double>{250, 254, 248, 252, 247, 253, 249, 255, 250, 246});
  ASSERT_TRUE(hidden);
  EXPECT_LT(hidden->low, -0.015);
  EXPECT_GT(hidden->low, -0.05);
  EXPECT_GT(hidden->high, 0.015);
  EXPECT_LT(hidden->high, 0.05);
  EXPECT_FALSE(drift_of(std::vector<double>{250, 250.4, 249.7, 250.3, 249.8, 250.2, 249.9, 250}));
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
