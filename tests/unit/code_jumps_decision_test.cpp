// Levels and edges of code that jumps over blocks, from curves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gputopo/program.h"
#include "probe/code/jumps_decision.h"

namespace gputopo::probe {
namespace {

using testing::HasSubstr;

constexpr double kPass = 47;

// Jumps over blocks: from the count `from` on, each jump takes this many cycles.
struct Step {
  double from = 0;
  double cycles = 0;
};
JumpCurve curve(double block_bytes, std::uint32_t most, const std::vector<Step>& steps) {
  std::vector<CodePasses> lengths;
  for (double at = 2; at <= most; at = std::max(at + 1, std::round(at * 1.045))) {
    double cycles = 0;
    for (const Step& step : steps) cycles = at >= step.from ? step.cycles : cycles;
    lengths.push_back({static_cast<std::uint32_t>(at), {kPass + cycles * at}});
  }
  return read_jump_curve(lengths, cost_of_pass(lengths), block_bytes, 48);
}

// The curve of an H200.
JumpCurve far_jumps() { return curve(400, 384, {{0, 31}, {13, 42}, {80, 84}, {320, 210}}); }
const JumpCurve kNoNear;  // near jumps without any level
const std::vector<KnownCodeCache> kCaches = {{{32768, 33280}, 128}, {{126000, 188000}, 256}};

TEST(JumpCurve, IsWithoutWhatAPassCosts) {
  const JumpCurve far = far_jumps();
  EXPECT_NEAR(far.cycles_per_jump.front(), 31, 1e-9);
  ASSERT_EQ(far.levels.size(), 3u) << "the last step leaves too little behind it";
  EXPECT_NEAR(far.levels[1].value, 42, 1e-9);
}

TEST(JumpLevels, BelongToTheCacheThatEndsThere) {
  const auto levels = find_jump_levels(kNoNear, far_jumps(), kCaches);
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_EQ(levels[0].value.value(), 1u) << levels[0].why_not;
  EXPECT_EQ(levels[1].value.value(), 2u) << levels[1].why_not;
}

// The end of the curve does not prove that the last level ends there.
TEST(JumpLevels, TheLastEndsOnlyWhereLongerCodeTakesLonger) {
  const auto levels = find_jump_levels(kNoNear, curve(400, 384, {{0, 31}, {13, 42}, {80, 84}}), kCaches);
  EXPECT_TRUE(levels[0].value) << levels[0].why_not;
  EXPECT_THAT(levels[1].why_not, HasSubstr("no step"));
}

TEST(JumpLevels, OfTwoCachesInOnePlaceAreNotTold) {
  const auto levels = find_jump_levels(kNoNear, far_jumps(), {{{32768, 33280}, 128}, {{40000, 42000}, 128}});
  EXPECT_THAT(levels[0].why_not, HasSubstr("may belong to another cache"));
  EXPECT_FALSE(levels[1].value);
}

// Each block of 400 B takes a line: 32 KiB in lines of 128 B may end where 126 KB without gaps end.
TEST(JumpLevels, OfBlocksThatTakeALineEachMayBeEitherCaches) {
  const auto levels = find_jump_levels(kNoNear, curve(400, 384, {{0, 31}, {13, 42}, {256, 85}}), kCaches);
  EXPECT_THAT(levels[0].why_not, HasSubstr("may belong to another cache"));
  EXPECT_FALSE(levels[1].value);
}

TEST(JumpLevels, OfACacheWithoutAStepAreNotTold) {
  const auto levels = find_jump_levels(kNoNear, far_jumps(), {{{60000, 61000}, 256}});
  EXPECT_THAT(levels[0].why_not, HasSubstr("no step"));
  const auto several =
      find_jump_levels(kNoNear, curve(400, 384, {{0, 20}, {40, 31}, {90, 60}}), {{{20000, 33280}, 32}});
  EXPECT_THAT(several[0].why_not, HasSubstr("several steps"));
}

TEST(JumpLevels, ThatTheFewestJumpsAreNotInHideOne) {
  const std::size_t first = 0;
  const JumpCurve plain = curve(400, 384, {{0, 30}, {80, 84}});
  EXPECT_FALSE(may_hide_nearer(kNoNear, plain, first));
  EXPECT_TRUE(may_hide_nearer(kNoNear, curve(400, 384, {{0, 20}, {4, 30}, {80, 84}}), first));
  EXPECT_TRUE(may_hide_nearer(curve(100, 384, {{0, 20}, {16, 30}}), plain, first));
  EXPECT_FALSE(may_hide_nearer(curve(100, 384, {{0, 30}, {200, 84}}), plain, first));
}

TEST(PassCost, HasTheErrorOfItsLine) {
  std::vector<CodePasses> passes;
  for (std::uint32_t count = 2; count <= 8; ++count) passes.push_back({count, {100 + 30.0 * count}});
  EXPECT_NEAR(cost_of_pass(passes).cycles, 100, 1e-9);
  EXPECT_LT(cost_of_pass(passes).error_cycles, 1);
  passes[0].cycles = {175};
  EXPECT_GT(cost_of_pass(passes).error_cycles, 5);
}

// The short lines of a small cache hold as many far blocks as the long lines of the next cache.
TEST(JumpLevels, OfASmallerCacheAreNotThose) {
  const JumpCurve far = curve(192, 384, {{0, 20}, {19, 100}});
  const JumpCurve near = curve(48, 512, {{0, 20}, {19, 33}, {65, 100}});
  const std::vector<KnownCodeCache> caches = {{{3072, 3327}, 256}};
  EXPECT_TRUE(find_jump_levels(kNoNear, far, caches)[0].value);
  EXPECT_THAT(find_jump_levels(near, far, caches)[0].why_not, HasSubstr("a cache smaller than this one"));
  const JumpCurve one_cache = curve(48, 512, {{0, 20}, {65, 100}});
  EXPECT_TRUE(find_jump_levels(one_cache, far, caches)[0].value);
}

// The nearer cache holds 12 blocks, so it may still serve as many of the 79 of this level.
TEST(JumpLatency, GoesUpToWhatJumpsTakeThatTheNearerCacheDoesNotServe) {
  const JumpCurve far = far_jumps();
  const JumpLatency nearest = latency_of_level(kNoNear, far, 0);
  EXPECT_NEAR(nearest.cycles, 31, 1e-9);
  EXPECT_LT(nearest.interval.high, 31.5);
  const JumpLatency second = latency_of_level(kNoNear, far, 1);
  EXPECT_NEAR(second.cycles, 42, 1e-9);
  EXPECT_GT(second.interval.high, 43);
  EXPECT_LT(second.interval.high, 46);
}

TEST(NearestCode, LiesBetweenWhatFarJumpsFitAndWhatNearOnesExceed) {
  JumpCurve near = curve(112, 512, {{0, 30}, {45, 31}, {52, 33}});
  near.loop_bytes = 240;
  const Decision<NearestCode> code = decide_nearest_code(near, far_jumps(), 32768);
  ASSERT_TRUE(code.value) << code.why_not;
  EXPECT_NEAR(code.value->bytes, 44 * 112, 3 * 112);
  EXPECT_EQ(code.value->interval.low, 12 * 48);
  EXPECT_GE(code.value->interval.high, 52 * 112 + 240);
  EXPECT_LE(code.value->interval.high, 65 * 112 + 240);
}

TEST(NearestCode, IsNotToldWhereCodeIsFetchedAhead) {
  const JumpCurve near = curve(112, 512, {{0, 30}, {45, 30.5}});
  EXPECT_THAT(decide_nearest_code(near, far_jumps(), 32768).why_not, HasSubstr("prefetches"));
}

}  // namespace
}  // namespace gputopo::probe
