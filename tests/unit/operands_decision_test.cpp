// The cache of constant operands, from passes over them.
#include "probe/code/operands_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace gputopo::probe {
namespace {

using testing::HasSubstr;

constexpr double kOperandPass = 102;
constexpr double kOperandHit = 18;
constexpr double kOperandMiss = 55;

// Passes over all counts up to 64 and some up to 256. `misses`: of a pass over that many operands.
OperandCurve curve(const std::function<double(std::uint32_t)>& misses, double noise = 0) {
  std::vector<OperandPasses> passes;
  for (std::uint32_t at = 2; at <= 256; at = at < 64 ? at + 1 : at * 17 / 16) {
    const double close = kOperandPass + kOperandHit * at;
    passes.push_back({at, close + kOperandMiss * misses(at) + (at % 2 == 0 ? noise : -noise), close});
  }
  return read_operand_curve(passes);
}

// The cache of an H100: 32 lines in 8 sets of 4 ways that evict the oldest line.
double of_sets(std::uint32_t at) { return at <= 32 ? 0 : at >= 40 ? at : 5.0 * (at - 32); }

TEST(OperandCache, IsAsLargeAsTheMostThatMissNone) {
  const Decision<OperandCache> cache = decide_operand_cache(curve(of_sets));
  ASSERT_TRUE(cache.value) << cache.why_not;
  EXPECT_EQ(cache.value->bytes, 2048);
  EXPECT_LT(cache.value->interval.high, 2048 + 64);
  EXPECT_EQ(cache.value->ways, 4u);
  EXPECT_NEAR(cache.value->hit_cycles, kOperandHit, 1e-9);
  EXPECT_NEAR(cache.value->added_cycles, kOperandMiss, 1e-9);
}

TEST(OperandCache, NoiseOfPassesIsNoMiss) {
  const Decision<OperandCache> cache = decide_operand_cache(curve(of_sets, 6));
  ASSERT_TRUE(cache.value) << cache.why_not;
  EXPECT_EQ(cache.value->bytes, 2048);
}

// With one set, all lines miss at once, and the pass's own lines cannot be told from its ways.
TEST(OperandCache, OfOneSetMayHoldAFewLinesMore) {
  const Decision<OperandCache> cache = decide_operand_cache(curve([](std::uint32_t at) { return at > 20 ? at : 0; }));
  ASSERT_TRUE(cache.value) << cache.why_not;
  EXPECT_EQ(cache.value->bytes, 20 * 64);
  EXPECT_EQ(cache.value->interval.low, 20 * 64);
  EXPECT_GE(cache.value->interval.high, 22 * 64);
  EXPECT_EQ(cache.value->ways, 0u);
}

// The fewest constants that the probe can find: many counts up to sixteen miss.
TEST(OperandCache, MayBeAsSmallAsAFewLines) {
  const auto misses = [](std::uint32_t at) { return at <= 8 ? 0.0 : at >= 10 ? at : 5.0 * (at - 8); };
  const Decision<OperandCache> cache = decide_operand_cache(curve(misses));
  ASSERT_TRUE(cache.value) << cache.why_not;
  EXPECT_EQ(cache.value->bytes, 512);
  EXPECT_EQ(cache.value->fits, 8u);
}

// The third set holds one line that the pass itself runs, and overflows with its fourth operand line.
TEST(OperandCache, LinesOfThePassItselfAreSeen) {
  const auto misses = [](std::uint32_t at) {
    double sum = 0;
    for (std::uint32_t set = 0; set < 8; ++set) {
      const std::uint32_t lines = at / 8 + (set < at % 8 ? 1 : 0) + (set == 2 ? 1 : 0);
      sum += lines > 4 ? lines : 0;
    }
    return sum;
  };
  const Decision<OperandCache> cache = decide_operand_cache(curve(misses));
  ASSERT_TRUE(cache.value) << cache.why_not;
  EXPECT_EQ(cache.value->fits, 26u);
  EXPECT_EQ(cache.value->bytes, 2048);
  EXPECT_EQ(cache.value->ways, 4u);
  EXPECT_EQ(cache.value->own_lines, 1u);
  EXPECT_NEAR(cache.value->added_cycles, kOperandMiss, 1e-9);
}

// Each line has two operands, so the second one hits. The size is the same, but a miss may fetch only part of a line.
TEST(OperandCache, OfLongerLinesOnlyTheSizeIsTold) {
  const auto misses = [](std::uint32_t at) {
    const std::uint32_t lines = (at + 1) / 2;
    return lines <= 16 ? 0.0 : lines >= 20 ? lines : 5.0 * (lines - 16);
  };
  const Decision<OperandCache> cache = decide_operand_cache(curve(misses));
  ASSERT_TRUE(cache.value) << cache.why_not;
  EXPECT_EQ(cache.value->bytes, 2048);
  EXPECT_EQ(cache.value->line_bytes, 0u);
  EXPECT_EQ(cache.value->ways, 0u);
}

TEST(OperandCache, ThatOverflowsSlowlyHasAWideInterval) {
  const Decision<OperandCache> cache =
      decide_operand_cache(curve([](std::uint32_t at) { return std::clamp(2.4 * (at - 24.0), 0.0, double(at)); }));
  ASSERT_TRUE(cache.value) << cache.why_not;
  EXPECT_EQ(cache.value->ways, 0u);
  EXPECT_EQ(cache.value->interval.low, 24 * 64);
  EXPECT_GE(cache.value->interval.high, 30 * 64);
}

// One of two sets misses from 21 operands on, the other from 35 on; in between, no further operand misses.
TEST(OperandCache, MayEndWhereTheLastSetOverflows) {
  const auto misses = [](std::uint32_t at) { return at <= 20 ? 0.0 : at <= 34 ? 21.0 : double(at); };
  const Decision<OperandCache> cache = decide_operand_cache(curve(misses));
  ASSERT_TRUE(cache.value) << cache.why_not;
  EXPECT_EQ(cache.value->interval.low, 20 * 64);
  EXPECT_GE(cache.value->interval.high, 34 * 64);
}

// One set, of long lines or of twice as many short ones.
TEST(OperandCache, OfOneSetHasNoWaysThatAreKnown) {
  const Decision<OperandCache> cache =
      decide_operand_cache(curve([](std::uint32_t at) { return at <= 19 ? 0.0 : at + 1.0; }));
  ASSERT_TRUE(cache.value) << cache.why_not;
  EXPECT_EQ(cache.value->ways, 0u);
  EXPECT_GE(cache.value->interval.high, 20 * 64);
}

TEST(OperandCache, WithoutAStepIsNotTold) {
  EXPECT_THAT(find_operand_edge(curve([](std::uint32_t) { return 0; })).why_not, HasSubstr("no step"));
  EXPECT_THAT(decide_operand_cache(curve([](std::uint32_t at) { return at; })).why_not, HasSubstr("no step"));
  EXPECT_FALSE(decide_operand_cache(read_operand_curve({})).value);
}

TEST(OperandEdge, IsFromNoneToAll) {
  const Decision<OperandEdge> edge = find_operand_edge(curve(of_sets));
  ASSERT_TRUE(edge.value) << edge.why_not;
  EXPECT_EQ(edge.value->last_that_fits, 32u);
  EXPECT_GE(edge.value->first_that_all_miss, 38u);
  EXPECT_LE(edge.value->first_that_all_miss, 41u);
}

TEST(WholeLines, AreNotThereWhereNearOperandsMiss) {
  EXPECT_TRUE(decide_whole_lines(1000, 1000, kOperandMiss).value);
  EXPECT_TRUE(decide_whole_lines(1030, 1000, kOperandMiss).value) << "less than one miss";
  EXPECT_THAT(decide_whole_lines(1000 + 64 * kOperandMiss, 1000, kOperandMiss).why_not, HasSubstr("shorter than 64 B"));
}

TEST(Evicted, IsMostOrNone) {
  EXPECT_EQ(decide_evicted(100, 110, 500).value, false);
  EXPECT_EQ(decide_evicted(100, 480, 500).value, true);
  EXPECT_THAT(decide_evicted(100, 240, 500).why_not, HasSubstr("too small for a shared cache"));
}

}  // namespace
}  // namespace gputopo::probe
