// A cache of constants, from how much code fits beside them.
#include "probe/code/constants_beside_code_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

TEST(ConstantWalk, ReachesTheCacheWhereCodeMakesItLonger) {
  EXPECT_TRUE(code_reaches({1000, 1160}));
  EXPECT_FALSE(code_reaches({1000, 1140}));
  EXPECT_FALSE(code_reaches({1000, 1000}));
  EXPECT_DOUBLE_EQ((ConstantWalk{1000, 2000}.part(1040)), 0.04);
}

// 128 KiB: as much code, in blocks of 512 B, as constants.
TEST(SharedCapacity, IsTheConstantsAndTheCodeThatFits) {
  const SharedCapacity capacity =
      decide_shared_capacity({.fits = 128, .most = 140, .nearly_all = 150}, 65536, 512, 100);
  EXPECT_EQ(capacity.bytes, 131072);
  EXPECT_EQ(capacity.first_miss_bytes, 131072 + 512);
  EXPECT_EQ(capacity.all_miss_bytes, 65536 + 151 * 512);
  EXPECT_DOUBLE_EQ(capacity.interval.low, 0.96 * 131072 - 512);
  EXPECT_EQ(capacity.interval.high, 65536 + 141 * 512 + 100);
}

TEST(SharedCapacity, OfACliffIsWithinABlockAtTheTop) {
  const SharedCapacity capacity = decide_shared_capacity({128, 128, 128}, 65536, 512, 0);
  EXPECT_EQ(capacity.interval.high, 131072 + 512);
  EXPECT_EQ(capacity.all_miss_bytes, capacity.first_miss_bytes);
}

TEST(SharedCapacity, WithoutRoomForCodeIsThatOfTheConstants) {
  EXPECT_EQ(decide_shared_capacity({}, 65536, 512, 0).bytes, 65536);
}

TEST(SparseLimit, IsHalfWayBetweenAllAndHalfOfTheConstants) {
  const CodeBesideConstants code{.constant_bytes = 65536, .beside_all_bytes = 65536, .beside_half_bytes = 98304};
  EXPECT_EQ(sparse_limit(code).value, 81920);
}

TEST(SparseLimit, IsNoneWhereTheTwoLeaveAboutAsMuchRoom) {
  EXPECT_TRUE(sparse_limit({65536, 65536, 65536 + 8192}).value);
  EXPECT_EQ(sparse_limit({65536, 65536, 65536 + 8191}).why_not,
            "65536 B of code fit in the cache with 65536 B of constants, and 73727 B of code fit with half of these "
            "constants: too similar to show the line size");
  EXPECT_FALSE(sparse_limit({65536, 65536, 65536}).value);
  EXPECT_FALSE(sparse_limit({65536, 65536, 32768}).value) << "noise";
}

void expect_penalty(const MissPenalty& penalty, double cycles, double half) {
  EXPECT_DOUBLE_EQ(penalty.cycles, cycles);
  EXPECT_NEAR(penalty.interval.low, cycles - half, 1e-9);
  EXPECT_NEAR(penalty.interval.high, cycles + half, 1e-9);
}

TEST(ConstantPenalty, IsWhatALoadTakesLonger) {
  expect_penalty(decide_constant_penalty(1000, std::vector{101000.0, 101000.0, 101000.0}, std::vector{101000.0}, 1000),
                 100, 1);
}

TEST(ConstantPenalty, IsAsUncertainAsWalksDiffer) {
  const MissPenalty penalty = decide_constant_penalty(1000, std::vector{91000.0, 101000.0, 111000.0},
                                                      std::vector{101000.0, 101000.0, 101000.0}, 1000);
  expect_penalty(penalty, 100, 24.8413771175032);  // Student's t with two degrees of freedom
}

TEST(ConstantPenalty, IsAsUncertainAsLessCodeEvictsLess) {
  expect_penalty(decide_constant_penalty(1000, std::vector{101000.0, 101000.0}, std::vector{81000.0}, 1000), 100, 20);
}

TEST(ConstantPenalty, OfOneWalkIsKnownToACycle) {
  expect_penalty(decide_constant_penalty(0, std::vector{500.0}, std::vector{500.0}, 10), 50, 1);
}

}  // namespace
}  // namespace gputopo::probe
