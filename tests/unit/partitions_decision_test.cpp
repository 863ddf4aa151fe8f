// From the part of an L2 that is near an SM to the number of partitions.
#include <gtest/gtest.h>

#include <limits>

#include "probe/partitions/count_decision.h"

namespace gputopo::probe {
namespace {

constexpr double kMiB = 1 << 20;

TEST(PartitionsDecision, IsTheWholeOverWhatIsNear) {
  EXPECT_EQ(count_partitions({.whole = 50 * kMiB, .near = 25 * kMiB}).partitions, 2);
  EXPECT_EQ(count_partitions({.whole = 96 * kMiB, .near = 24 * kMiB}).partitions, 4);
  EXPECT_EQ(count_partitions({.whole = 40 * kMiB, .near = 40 * kMiB}).partitions, 1);
}

TEST(PartitionsDecision, ForgivesAQuarterOfAPartition) {
  EXPECT_EQ(count_partitions({.whole = 2.25, .near = 1}).partitions, 2);
  EXPECT_EQ(count_partitions({.whole = 1.75, .near = 1}).partitions, 2);
  EXPECT_EQ(count_partitions({.whole = 0.75, .near = 1}).partitions, 1);
  EXPECT_EQ(count_partitions({.whole = 2.3, .near = 1}).partitions, std::nullopt);
  EXPECT_EQ(count_partitions({.whole = 1.7, .near = 1}).partitions, std::nullopt);
}

TEST(PartitionsDecision, SaysNothingHalfWay) {
  const PartitionCount between = count_partitions({.whole = 3, .near = 2});
  EXPECT_EQ(between.partitions, std::nullopt);
  EXPECT_DOUBLE_EQ(between.ratio, 1.5);
}

// Noise may make the near part exceed the whole, which must not give a partition count.
TEST(PartitionsDecision, IsNeverLessThanOne) {
  EXPECT_EQ(count_partitions({.whole = 0.6, .near = 1}).partitions, std::nullopt);
  EXPECT_EQ(count_partitions({.whole = 0.1, .near = 1}).partitions, std::nullopt);
  EXPECT_EQ(count_partitions({.whole = 0, .near = 1}).partitions, std::nullopt);
}

TEST(PartitionsDecision, NeedsSomethingNear) {
  EXPECT_EQ(count_partitions({.whole = 50 * kMiB, .near = 0}).partitions, std::nullopt);
  EXPECT_EQ(count_partitions({}).partitions, std::nullopt);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(count_partitions({.whole = 50 * kMiB, .near = nan}).partitions, std::nullopt);
}

TEST(PartitionsDecision, ToleratesWhatItIsTold) {
  EXPECT_EQ(count_partitions({.whole = 2.2, .near = 1}, {.whole_tolerance = 0.1}).partitions, std::nullopt);
  EXPECT_EQ(count_partitions({.whole = 2.4, .near = 1}, {.whole_tolerance = 0.45}).partitions, 2);
}

// With two partitions, one SM sees its own and half of the other, because far lines are copied.
TEST(PartitionsDecision, WhatOneSmSeesOfCopiesIsNoWholeNumber) {
  EXPECT_EQ(seen_with_copies(1), 1);
  EXPECT_EQ(seen_with_copies(2), 1.5);
  EXPECT_NEAR(seen_with_copies(8), 7.125, 1e-12);
  EXPECT_EQ(count_partitions({.whole = 1.5, .near = 1, .is_seen = true}).partitions, 2);
  EXPECT_EQ(count_partitions({.whole = 2.33, .near = 1, .is_seen = true}).partitions, 3);
  EXPECT_EQ(count_partitions({.whole = 2, .near = 1, .is_seen = true}).partitions, 2);
  EXPECT_EQ(count_partitions({.whole = 3.25, .near = 1, .is_seen = true}).partitions, 3) << "or 4: both are as near";
}

TEST(PartitionsDecision, OnePartitionIsNoAnswerWhereAllIsMoreThanWhatIsNear) {
  const PartitionCount unclear = {.ratio = 1.4, .partitions = std::nullopt};
  EXPECT_EQ(first_whole(unclear, {.ratio = 1.18, .partitions = 1}).partitions, std::nullopt);
  EXPECT_EQ(first_whole(unclear, {.ratio = 1.18, .partitions = 1}).ratio, 1.4);
  EXPECT_EQ(first_whole(unclear, {.ratio = 2.1, .partitions = 2}).partitions, 2);
  EXPECT_EQ(first_whole({.ratio = 0.6, .partitions = std::nullopt}, {.ratio = 1, .partitions = 1}).partitions, 1);
  EXPECT_EQ(first_whole({.ratio = 4, .partitions = 4}, {.ratio = 2, .partitions = 2}).partitions, 4);
}

}  // namespace
}  // namespace gputopo::probe
