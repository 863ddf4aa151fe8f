#include "probe/partitions/sides_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNearCycles = 260;

// On an H200, half of the lines have their home on the far side and take 173 cycles more.
TEST(SplitByFirstTouch, SmsOfTwoSides) {
  const std::vector<FirstTouch> touches = {{1, 0.1}, {2, 86.0}, {3, 85.9}, {8, -0.1}, {9, 0.12}, {14, 86.1}};
  const Decision<NearAndFarSms> split = split_by_first_touch({touches, 0.05, 0.3, kNearCycles});
  ASSERT_TRUE(split.value);
  EXPECT_THAT(split.value->near, ElementsAre(1, 8, 9));
  EXPECT_THAT(split.value->far, ElementsAre(2, 3, 14));
  EXPECT_NEAR(split.value->far_cycles, 85.95, 0.1);
}

TEST(SplitByFirstTouch, AllAlike) {
  const std::vector<FirstTouch> touches = {{1, 0.4}, {2, -0.6}, {3, 0.8}, {4, 0.0}};
  const Decision<NearAndFarSms> split = split_by_first_touch({touches, 0.1, 0.4, kNearCycles});
  ASSERT_TRUE(split.value);
  EXPECT_THAT(split.value->near, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(split.value->far, IsEmpty());
}

// 5% of 240 cycles, which half of the lines show: still many times the noise.
TEST(SplitByFirstTouch, AGapOfSixCyclesIsTold) {
  const std::vector<FirstTouch> touches = {{1, 0.4}, {2, 5.7}, {3, 6.2}, {4, -0.3}};
  const Decision<NearAndFarSms> split = split_by_first_touch({touches, 0.1, 0.35, kNearCycles});
  ASSERT_TRUE(split.value);
  EXPECT_THAT(split.value->far, ElementsAre(2, 3));
}

TEST(SplitByFirstTouch, WhatNoiseMayBeIsNoSide) {
  const std::vector<FirstTouch> touches = {{1, 0.4}, {2, 3.4}, {3, 3.2}, {4, -0.3}};
  EXPECT_FALSE(split_by_first_touch({touches, 0, 0.5, kNearCycles}).value);
}

// A direct-mapped L2, where the lines evict one another; far ones took 41 cycles more.
TEST(SplitByFirstTouch, NoiseThatWouldHideSidesSaysNothing) {
  const std::vector<FirstTouch> touches = {{1, 12}, {2, 35}, {3, -8}, {4, 40}};
  const Decision<NearAndFarSms> split = split_by_first_touch({touches, 3, 7.8, kNearCycles});
  EXPECT_FALSE(split.value);
  EXPECT_THAT(split.why_not, HasSubstr("noise would hide"));
}

TEST(SplitByFirstTouch, NobodyIsBetweenTheSides) {
  const std::vector<FirstTouch> touches = {{1, 0.1}, {2, 86.0}, {3, 45}, {4, 85}};
  const Decision<NearAndFarSms> split = split_by_first_touch({touches, 0, 0.3, kNearCycles});
  EXPECT_FALSE(split.value);
  EXPECT_THAT(split.why_not, HasSubstr("SM 3"));
}

TEST(FitsPartitions, OfAllOrOfWhatOneSmSeesOfCopies) {
  EXPECT_TRUE(fits_partitions(2.1, 2));
  EXPECT_TRUE(fits_partitions(1.5, 2));  // 30 near and 15 that only the far side holds
  EXPECT_FALSE(fits_partitions(3, 2));
  EXPECT_TRUE(fits_partitions(7.1, 8));
  EXPECT_FALSE(fits_partitions(7.1, 6));
  EXPECT_TRUE(sees_copies(1.55, 2));
  EXPECT_FALSE(sees_copies(1.85, 2));
  EXPECT_TRUE(sees_copies(7.15, 8));
  EXPECT_FALSE(sees_copies(7.9, 8));
}

PartitionsEvidence evidence(double ratio, std::optional<std::int64_t> by_near, std::vector<std::size_t> sides) {
  return {.near_ratio = ratio, .by_near_size = by_near, .sides = std::move(sides)};
}

TEST(DecidePartitions, BothExperimentsAgree) {
  const Decision<PartitionsFound> found = decide_partitions(evidence(1.99, 2, {66, 66}));
  ASSERT_TRUE(found.value);
  EXPECT_EQ(found.value->partitions, 2);
  EXPECT_THAT(found.value->flags, IsEmpty());
}

// A survey takes 260 and 300 cycles for one level.
TEST(DecidePartitions, SidesAreToldWhereLatenciesAreNot) {
  const Decision<PartitionsFound> found = decide_partitions(evidence(1, 1, {66, 66}));
  ASSERT_TRUE(found.value);
  EXPECT_EQ(found.value->partitions, 2);
  EXPECT_THAT(found.value->flags, IsEmpty());
}

// With eight partitions and copied lines, one SM sees 7.125 times the near part.
TEST(DecidePartitions, EightAreNotSeven) {
  const Decision<PartitionsFound> found = decide_partitions(evidence(7.1, 7, {18, 18, 16, 16, 16, 16, 16, 16}));
  ASSERT_TRUE(found.value);
  EXPECT_EQ(found.value->partitions, 8);
  EXPECT_THAT(found.value->flags, IsEmpty());
}

// TLB misses look like a far part.
TEST(DecidePartitions, ADisagreementIsFlagged) {
  const Decision<PartitionsFound> found = decide_partitions(evidence(10, 10, {132}));
  ASSERT_TRUE(found.value);
  EXPECT_EQ(found.value->partitions, 1);
  EXPECT_THAT(found.value->flags, ElementsAre(HasSubstr("near_size_disagrees: ")));
}

TEST(DecidePartitions, FewSmsDoNotShowAllSides) {
  const Decision<PartitionsFound> found = decide_partitions(evidence(7.8, 8, {2, 2, 2, 2}));
  ASSERT_TRUE(found.value);
  EXPECT_EQ(found.value->partitions, 8);
  EXPECT_THAT(found.value->flags, ElementsAre(HasSubstr("too_few_sms: ")));
  const Decision<PartitionsFound> close = decide_partitions(evidence(1, 1, {2}));
  ASSERT_TRUE(close.value);
  EXPECT_THAT(close.value->flags, ElementsAre(HasSubstr("too_few_sms: ")));
}

// Eight SMs are near only four of five partitions. Some near lines are copies, and part of a footprint is evicted.
TEST(DecidePartitions, FewSmsAndMoreThanTheyAreNearAreFlagged) {
  PartitionsEvidence five = evidence(3.86, 4, {2, 2, 2, 2});
  five.ratio_of_all = 4.7;
  const Decision<PartitionsFound> found = decide_partitions(five);
  ASSERT_TRUE(found.value);
  EXPECT_THAT(found.value->flags, ElementsAre(HasSubstr("too_few_sms: ")));
  five.sides = {33, 33, 33, 33};
  EXPECT_THAT(decide_partitions(five).value->flags, IsEmpty()) << "sets that fill unevenly";
}

// With eight partitions and copied lines, one SM sees as much as with seven.
TEST(DecidePartitions, FewSmsAndARatioOfOneMoreAreFlagged) {
  const Decision<PartitionsFound> found = decide_partitions(evidence(7.1, 7, {1, 1, 2, 1, 1, 1, 1}));
  ASSERT_TRUE(found.value);
  EXPECT_THAT(found.value->flags, ElementsAre(HasSubstr("too_few_sms: ")));
  EXPECT_THAT(decide_partitions(evidence(2, 2, {2, 2})).value->flags, IsEmpty());
}

TEST(DecidePartitions, OneExperimentAloneIsFlagged) {
  const Decision<PartitionsFound> found = decide_partitions(
      {.near_ratio = 2, .by_near_size = 2, .no_sides_reason = "this measurement needs at least two SMs"});
  ASSERT_TRUE(found.value);
  EXPECT_EQ(found.value->partitions, 2);
  EXPECT_THAT(found.value->flags, ElementsAre(HasSubstr("two SMs")));
  EXPECT_FALSE(
      decide_partitions({.near_ratio = 1.5, .no_sides_reason = "this measurement needs at least two SMs"}).value);
}

}  // namespace
}  // namespace gputopo::probe
