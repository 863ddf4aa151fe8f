// The code length at which passes over straight-line code begin to wait for the jump back, from literals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "probe/code/pass_step_decision.h"

namespace gputopo::probe {
namespace {

using testing::HasSubstr;

// 1 to 45 blocks of 37 cycles each, as on an H200. `more`: extra cycles of each length in each pass.
std::vector<CodePasses> passes(const std::function<double(int blocks, int pass)>& more) {
  std::vector<CodePasses> lengths;
  for (int blocks = 1; blocks <= 45; ++blocks) {
    CodePasses& length = lengths.emplace_back(CodePasses{.instructions = 32u * blocks, .cycles = {}});
    for (int pass = 0; pass < 15; ++pass) length.cycles.push_back(114 + 37.0 * blocks + more(blocks, pass));
  }
  return lengths;
}
const std::vector<double> kJump = {10.4};

TEST(PassStep, IsWhereTheBeginningIsFetchedAgain) {
  const auto step = decide_pass_step(passes([](int blocks, int) { return blocks > 16 ? 10 : 0; }), kJump);
  ASSERT_TRUE(step.value) << step.why_not;
  EXPECT_EQ(step.value->last_before, 15u);
  EXPECT_EQ(step.value->first_behind, 16u);
  EXPECT_NEAR(step.value->cycles, 10, 1e-6);
}

// An H200 (1980 MHz, driver 580.159.04): with 9 and 10 blocks one pass in five waits, with 11 four, with more all.
TEST(PassStep, OfAnH200HasAFewLengthsBetween) {
  const auto step = decide_pass_step(passes([](int blocks, int pass) {
                                       if (blocks < 9) return 0;
                                       if (blocks < 11) return pass % 5 == 1 ? 12 : 0;
                                       if (blocks < 12) return pass % 5 == 3 ? 0 : 13;
                                       return 12;
                                     }),
                                     kJump);
  ASSERT_TRUE(step.value) << step.why_not;
  EXPECT_GE(step.value->last_before, 7u);
  EXPECT_LE(step.value->last_before, 9u);
  EXPECT_GE(step.value->first_behind, 10u);
  EXPECT_LE(step.value->first_behind, 11u);
  EXPECT_NEAR(step.value->cycles, 12, 0.5);
  EXPECT_EQ(step.value->last_without, 7u) << "of nine blocks some passes wait";
}

// Under random replacement, the beginning stays for some passes; longer code leaves fewer of them.
TEST(PassStep, IsNoneThatRisesSlowly) {
  const auto step = decide_pass_step(passes([](int blocks, int pass) {
                                       const int of_fifteen = blocks <= 12 ? 0 : std::min(15, (blocks - 12) * 15 / 18);
                                       return pass < of_fifteen ? 12 : 0;
                                     }),
                                     kJump);
  EXPECT_FALSE(step.value);
  EXPECT_THAT(step.why_not, HasSubstr("does not rise in a single step"));
}

TEST(PassStep, ThatNoJumpTakesIsSomethingElse) {
  for (const double cycles : {4.0, 40.0}) {
    const auto step = decide_pass_step(passes([&](int blocks, int) { return blocks > 16 ? cycles : 0; }), kJump);
    EXPECT_FALSE(step.value) << cycles;
    EXPECT_THAT(step.why_not, HasSubstr("do not match the extra latency of a jump"));
  }
  EXPECT_FALSE(decide_pass_step(passes([](int, int) { return 0; }), kJump).value);
  const auto without_jumps = decide_pass_step(passes([](int blocks, int) { return blocks > 16 ? 10 : 0; }), {});
  EXPECT_THAT(without_jumps.why_not, HasSubstr("no latency plateau"));
}

TEST(PassStep, NeedsLengthsOnEitherSide) {
  EXPECT_FALSE(decide_pass_step(passes([](int blocks, int) { return blocks > 2 ? 10 : 0; }), kJump).value);
  EXPECT_FALSE(decide_pass_step(passes([](int blocks, int) { return blocks > 43 ? 10 : 0; }), kJump).value);
}

TEST(PassStep, IsTheSameForCodeElsewhere) {
  const auto lengths = passes([](int blocks, int) { return blocks > 16 ? 10 : 0; });
  const PassStep step = decide_pass_step(lengths, kJump).value.value();
  EXPECT_TRUE(is_same_step(step, lengths[15], lengths[16]));
  EXPECT_FALSE(is_same_step(step, lengths[14], lengths[15])) << "it does not stop to fit there";
  EXPECT_FALSE(is_same_step(step, lengths[20], lengths[21])) << "it fits before";
}

TEST(LongerJumps, AreThoseToTheNextCache) {
  JumpCurve far;
  for (std::uint32_t jumps = 2; jumps <= 120; ++jumps) {
    far.jumps.push_back(jumps);
    far.footprints_bytes.push_back(jumps * 400.0);
    far.cycles_per_jump.push_back(jumps < 15 ? 30 : jumps < 80 ? 41 : 85);
  }
  far.levels = stats::find_plateaus(far.footprints_bytes, far.cycles_per_jump);
  const std::vector<double> longer = longer_jumps(far, 32 << 10);
  ASSERT_EQ(longer.size(), 2u);
  EXPECT_NEAR(longer[0], 11, 1e-9);
  EXPECT_NEAR(longer[1], 11, 1e-9);
  EXPECT_TRUE(longer_jumps({}, 32 << 10).empty());
}

}  // namespace
}  // namespace gputopo::probe
