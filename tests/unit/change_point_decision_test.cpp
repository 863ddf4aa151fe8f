// The size of a cache by the change-point method, from latencies of arrays.
#include "probe/capacity/change_point_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace gputopo::probe {
namespace {

constexpr double kHit = 40;
constexpr double kMiss = 240;
constexpr std::uint64_t kFetch = 32;
constexpr ChangePointQuestion kOfL1{.fetch_bytes = kFetch};

// An array with this many misses among its ten timed loads.
SizedLatencies row(std::uint64_t bytes, std::size_t misses) {
  std::vector<double> latencies(10, kHit);
  std::fill_n(latencies.begin(), misses, kMiss);
  return {bytes, latencies};
}

// Arrays from 1000 B on, 10 B apart.
std::vector<SizedLatencies> rows_of(const std::vector<std::size_t>& misses) {
  std::vector<SizedLatencies> rows;
  for (const std::size_t of_row : misses) rows.push_back(row(1000 + 10 * rows.size(), of_row));
  return rows;
}

std::vector<std::size_t> step(std::size_t hits, std::size_t misses) {
  std::vector<std::size_t> rows(hits, 0);
  rows.insert(rows.end(), misses, 10);
  return rows;
}

TEST(ChangePointRange, IsTheSeedsForEachKindOfCache) {
  EXPECT_EQ(range_to_search(kOfL1), (ByteRange{1024, 1 << 20}));
  EXPECT_EQ(range_to_search({.space = Space::kConstant, .limit_bytes = 65536}), (ByteRange{256, 16384}));
  EXPECT_EQ(range_to_search({.space = Space::kConstant, .depth = 1, .limit_bytes = 65536}), (ByteRange{8192, 65536}));
  ChangePointQuestion of_l2{.space = Space::kGlobalBypassL1, .is_shared = true, .limit_bytes = 1ull << 34};
  EXPECT_EQ(range_to_search(of_l2), (ByteRange{1024, 64 << 20}));
  of_l2.reported_bytes = 50 << 20;
  EXPECT_EQ(range_to_search(of_l2), (ByteRange{1024, 100 << 20}));
  of_l2.limit_bytes = 32 << 20;
  EXPECT_EQ(range_to_search(of_l2), (ByteRange{1024, 32 << 20}));
}

TEST(ChangePointSearch, LongerIsAThirdOfTheWayToTheLargest) {
  const std::vector<double> smallest = {40, 40};
  const std::vector<double> largest = {340, 340};
  EXPECT_FALSE(takes_longer({40, 42}, smallest, largest));
  EXPECT_FALSE(takes_longer({135, 135}, smallest, largest));
  EXPECT_TRUE(takes_longer({145, 145}, smallest, largest));
  // If one of two loads misses, the reduced latency is seven tenths of the way, because distances are squared.
  EXPECT_TRUE(takes_longer({40, 340}, smallest, largest));
}

TEST(ChangePointSearch, EndsAtAPartOfTheRangeWithSizesEnoughForTheTest) {
  EXPECT_EQ(narrow_enough({1024, 1024 + 1000000}, kOfL1), 20000u);
  EXPECT_EQ(narrow_enough({256, 16384}, kOfL1), 32 * kFetch);
}

TEST(ChangePointSizes, AreAFetchApart) {
  EXPECT_THAT(sizes_of({1000, 1100}, kOfL1), testing::ElementsAre(992, 1024, 1056, 1088, 1120));
  EXPECT_THAT(sizes_of({1024, 1024}, kOfL1), testing::ElementsAre(1024));
  EXPECT_THAT(sizes_of({0, 40}, kOfL1), testing::ElementsAre(32, 64));
}

TEST(ChangePointSizes, AreFurtherApartWhereTheyAreTooMany) {
  const std::vector<std::uint64_t> sizes = sizes_of({1024, 1024 + 512 * kFetch}, kOfL1);
  EXPECT_EQ(sizes.size(), 257u);
  EXPECT_EQ(sizes[1] - sizes[0], 2 * kFetch);
  EXPECT_EQ(sizes.back(), 1024 + 512 * kFetch);
  ChangePointQuestion of_l2 = kOfL1;
  of_l2.is_shared = true;
  EXPECT_EQ(sizes_of({1024, 1024 + 512 * kFetch}, of_l2).size(), 65u);
}

TEST(ChangePointOutliers, AChangeInTheMiddleHasNone) { EXPECT_FALSE(has_outliers(reduced(rows_of(step(20, 20))))); }

TEST(ChangePointOutliers, AChangeAtAnEndIsOne) {
  EXPECT_TRUE(has_outliers(reduced(rows_of(step(39, 1)))));
  EXPECT_TRUE(has_outliers(reduced(rows_of(step(2, 38)))));
  EXPECT_TRUE(has_outliers(std::vector<double>{1}));
}

TEST(ChangePointOutliers, ASizeOnTheOtherSideThanItsNeighboursIsOne) {
  std::vector<std::size_t> misses = step(20, 20);
  misses[5] = 10;
  EXPECT_TRUE(has_outliers(reduced(rows_of(misses))));
  misses = step(20, 20);
  misses[30] = 0;
  EXPECT_TRUE(has_outliers(reduced(rows_of(misses))));
  misses = step(20, 20);
  misses[5] = 1;  // slower than its neighbors, but faster than sizes beyond the change
  EXPECT_FALSE(has_outliers(reduced(rows_of(misses))));
}

TEST(ChangePointInterval, WidensByAQuarterOnEachSideWithinTheRange) {
  const ByteRange range{1024, 1 << 20};
  EXPECT_EQ(widened({10000, 20000}, range), (ByteRange{7500, 22500}));
  EXPECT_EQ(widened({2000, 10000}, range), (ByteRange{1024, 12000}));
  EXPECT_EQ(widened({1000000, 1 << 20}, range), (ByteRange{987856, 1 << 20}));
}

TEST(ChangePoint, OfAStepIsTheLastSizeBeforeIt) {
  const Decision<ChangePointSize> decision = decide_change_point(rows_of(step(12, 18)));
  ASSERT_TRUE(decision.value) << decision.why_not;
  EXPECT_EQ(decision.value->bytes, 1110u);
  EXPECT_EQ(decision.value->next_bytes, 1120u);
  EXPECT_DOUBLE_EQ(decision.value->distance, 1);
  EXPECT_LT(decision.value->p_value, 1e-5);
}

// The cache ends where the first loads miss, but the squares are least in the middle of the ramp. The test still
// confirms this change as surely as one at a step.
TEST(ChangePoint, OfARampIsTooLarge) {
  std::vector<std::size_t> misses(10, 0);
  for (std::size_t missing = 1; missing <= 10; ++missing) misses.insert(misses.end(), 2, missing);
  misses.insert(misses.end(), 10, 10);
  const Decision<ChangePointSize> decision = decide_change_point(rows_of(misses));
  ASSERT_TRUE(decision.value);
  EXPECT_GT(decision.value->bytes, 1090u + 20u);
  EXPECT_LT(decision.value->p_value, 1e-5);
}

TEST(ChangePoint, ThatMayBeChanceIsNone) {
  const Decision<ChangePointSize> flat = decide_change_point(rows_of(std::vector<std::size_t>(20, 0)));
  EXPECT_FALSE(flat.value);
  EXPECT_THAT(flat.why_not, testing::HasSubstr("which may be chance"));
  EXPECT_FALSE(decide_change_point(rows_of(step(19, 1))).value) << "one size tells of no distribution";
  EXPECT_FALSE(decide_change_point(rows_of({0})).value);
}

TEST(ChangePointSegments, AreTheNearestIntegerFraction) {
  constexpr std::uint64_t kReportedSizes = 40 << 20;
  EXPECT_EQ(segments_of(kReportedSizes, 20 << 20).count, 2u);
  EXPECT_DOUBLE_EQ(segments_of(kReportedSizes, 20 << 20).proximity, 1);
  const Segments near = segments_of(kReportedSizes, 18 << 20);
  EXPECT_EQ(near.count, 2u);
  EXPECT_EQ(near.bytes, kReportedSizes / 2);
  EXPECT_NEAR(near.proximity, 1 - 2.0 / 18, 1e-12);
  EXPECT_EQ(segments_of(kReportedSizes, 100 << 20).count, 1u);
}

}  // namespace
}  // namespace gputopo::probe
