// How much code a cache holds, from literal passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "gputopo/program.h"
#include "probe/bench/last_that_fits.h"
#include "probe/code/size_decision.h"

namespace gputopo::probe {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

// Each length takes 40 cycles plus the given cycles for each instruction.
std::vector<CodePasses> passes(const std::function<double(double blocks)>& cycles_per_instruction) {
  std::vector<CodePasses> lengths;
  for (const std::uint32_t blocks : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128}) {
    const double instructions = blocks * kCodeBlockInstructions;
    const double cycles = 40 + instructions * cycles_per_instruction(blocks);
    lengths.push_back({blocks * kCodeBlockInstructions, {cycles, cycles, cycles}});
  }
  return lengths;
}

TEST(CodeSweep, TakesTheCostOfAPassOffAndFindsLevels) {
  const CodeSweep sweep = read_code_sweep(passes([](double blocks) { return blocks <= 24 ? 2 : 5; }), 512);
  EXPECT_NEAR(sweep.pass_cycles, 40, 1e-6);
  EXPECT_EQ(sweep.footprints_bytes.front(), 512);
  EXPECT_NEAR(sweep.cycles_per_instruction.front(), 2, 1e-6);
  ASSERT_THAT(sweep.levels, SizeIs(2));
  EXPECT_EQ(sweep.footprints_bytes[sweep.levels[0].last], 24 * 512);
  EXPECT_NEAR(sweep.levels[1].value, 5, 1e-6);
  EXPECT_TRUE(begins_with_level(sweep));
}

// A hidden cache holds the first block. The overhead of a pass depends on whether the fit includes that block.
TEST(CodeSweep, ABentBeginningLeavesTheCostOfAPassOpen) {
  EXPECT_NEAR(read_code_sweep(passes([](double) { return 2; }), 512).pass_error_cycles, 0, 1e-6);
  const CodeSweep bent = read_code_sweep(passes([](double blocks) { return blocks <= 1 ? 1.5 : 2; }), 512);
  EXPECT_LE(std::abs(bent.pass_cycles - 40), bent.pass_error_cycles);
  EXPECT_LT(bent.pass_error_cycles, 0.5 * 3 * kCodeBlockInstructions);
}

TEST(CodeSweep, OneCopyThatWasDisturbedIsOutvoted) {
  std::vector<CodePasses> lengths = passes([](double) { return 2; });
  for (CodePasses& length : lengths) length.cycles[1] *= 3;
  const CodeSweep sweep = read_code_sweep(lengths, 512);
  EXPECT_THAT(sweep.cycles_per_instruction, Each(DoubleNear(2, 1e-6)));
  EXPECT_THAT(sweep.levels, SizeIs(1));
}

TEST(CodeSweep, ACostBelowNoneIsNone) {
  std::vector<CodePasses> lengths = passes([](double) { return 2; });
  for (CodePasses& length : lengths) length.cycles = {2.0 * length.instructions - 20};
  EXPECT_EQ(read_code_sweep(lengths, 512).pass_cycles, 0);
}

TEST(CodeSweep, ARampHasNoLevel) {
  const CodeSweep sweep = read_code_sweep(passes([](double blocks) { return blocks; }), 512);
  EXPECT_THAT(sweep.levels, IsEmpty());
  EXPECT_FALSE(begins_with_level(sweep));
}

TEST(CodeSweep, AFartherLevelAloneIsNoBeginning) {
  const CodeSweep sweep = read_code_sweep(passes([](double blocks) { return blocks < 32 ? 1 + blocks / 8 : 5; }), 512);
  ASSERT_THAT(sweep.levels, Not(IsEmpty()));
  EXPECT_FALSE(begins_with_level(sweep));
}

// A cache of two and a half blocks, behind which a level begins at six.
TEST(CodeSweep, ShorterCodeThatRunsQuickerIsAnotherBeginning) {
  CodeSweep sweep{.cycles_per_instruction = std::vector<double>(16, 3.4),
                  .levels = {{.first = 5, .last = 15, .value = 3.4}}};
  for (std::uint32_t blocks = 1; blocks <= 16; ++blocks) sweep.instructions.push_back(blocks * kCodeBlockInstructions);
  EXPECT_TRUE(begins_with_level(sweep));
  sweep.cycles_per_instruction[1] = 2.4;
  EXPECT_TRUE(begins_with_level(sweep)) << "one length may be noise";
  sweep.cycles_per_instruction[2] = 2.7;
  EXPECT_FALSE(begins_with_level(sweep));
}

// A cache of two and a half blocks, behind which code is three times slower. The overhead of 194 cycles does not show.
TEST(CodeSweep, ShortestCodeThatRunsQuickerIsAnotherBeginning) {
  std::vector<CodePasses> lengths = {{32, {244}}, {64, {294}}, {96, {621}}};
  for (std::uint32_t blocks = 4; blocks <= 16; ++blocks) {
    lengths.push_back({blocks * kCodeBlockInstructions, {194 + 4.45 * blocks * kCodeBlockInstructions}});
  }
  EXPECT_FALSE(begins_with_level(read_code_sweep(lengths, 512)));
  lengths[0].cycles = {194 + 4.45 * 32};
  lengths[1].cycles = {194 + 4.45 * 64 + 4};  // noise
  EXPECT_TRUE(begins_with_level(read_code_sweep(lengths, 512)));
}

TEST(CodeSweep, OfOneLengthOrNoneHasNoLevel) {
  EXPECT_FALSE(begins_with_level(read_code_sweep({{32, {100}}}, 512)));
  EXPECT_FALSE(begins_with_level(read_code_sweep({}, 512)));
}

// ---- whether code takes longer ----

// For code twice as long as the nearer cache, that cache may serve up to half, if it keeps any of the code.
TEST(RateWithout, IsWhatTheRestTakes) {
  EXPECT_DOUBLE_EQ(rate_without(3, 2, 0.5), 4);
  EXPECT_DOUBLE_EQ(rate_without(3, 2, 0), 3);
  EXPECT_LT(rate_without(3, 2, 5), 100) << "code that is hardly longer";
}

// A cache with 128 B lines before one with 64 B lines: every second requested line came with the one before.
TEST(RateOfFirstLines, TakesOffWhatCameWithThem) {
  EXPECT_DOUBLE_EQ(rate_of_first_lines(3.91, 2.49, 2), 5.33);
  EXPECT_DOUBLE_EQ(rate_of_first_lines(3.91, 2.49, 1), 3.91);
  EXPECT_EQ(lines_at_once(128, 64).least, 2);
  EXPECT_EQ(lines_at_once(128, 64).most, 2);
  EXPECT_EQ(lines_at_once(64, 128).most, 1);
  EXPECT_EQ(lines_at_once(0, 64).least, 1) << "not known";
  EXPECT_GE(lines_at_once(0, 64).most, 4);
}

// Levels of 1.5 cycles up to 8 KiB and of 3.7 from 24 KiB on.
TEST(HiddenLevel, ServesCodeQuickerThanTheNextOneWould) {
  CodeSweep sweep{.footprints_bytes = {4096, 8192, 12288, 16384, 20480, 24576, 32768},
                  .levels = {{0, 1, 1.5}, {5, 6, 3.7}}};
  sweep.cycles_per_instruction = {1.5, 1.5, 1.8, 2.0, 2.4, 3.7, 3.7};  // hidden level: 2.1 cycles, 16 KiB
  EXPECT_EQ(hidden_level_bytes(sweep, 0, {8192}), 16384);
  sweep.cycles_per_instruction = {1.5, 1.5, 2.9, 3.3, 3.5, 3.7, 3.7};  // random replacement
  EXPECT_EQ(hidden_level_bytes(sweep, 0, {8192}), std::nullopt);
  sweep.cycles_per_instruction = {1.5, 1.5, 2.3, 2.7, 1.9, 3.7, 3.7};  // noise at one length
  EXPECT_EQ(hidden_level_bytes(sweep, 0, {8192}), std::nullopt);
}

// Levels of 2.3 cycles up to 3 KiB and of 8 from 9.5 KiB on. Code faster than a sharp edge allows shows another cache.
TEST(HiddenLevel, ShowsSoonerBehindASharpEdge) {
  CodeSweep sweep{.footprints_bytes = {2048, 3072, 4096, 6144, 7936, 8960, 9216, 9728, 10240},
                  .cycles_per_instruction = {2.28, 2.28, 3.6, 4.5, 5.5, 5.65, 5.7, 7.96, 8.0},
                  .levels = {{0, 1, 2.28}, {7, 8, 8}}};
  EXPECT_EQ(hidden_level_bytes(sweep, 0, {3072}), std::nullopt);
  EXPECT_EQ(hidden_level_bytes(sweep, 0, {3072, true}), 9216);
}

// The misses of one cache grow until all code misses. With two caches they stall once all code misses the first.
TEST(HiddenLevel, IsWhereMissesStall) {
  CodeSweep sweep{.footprints_bytes = {2048, 4096, 5120, 6144, 7168, 8192, 9216, 10240, 12288, 16384},
                  .levels = {{0, 1, 1.0}, {8, 9, 3.0}}};
  sweep.cycles_per_instruction = {1, 1, 1.3, 1.6, 1.75, 1.78, 1.8, 2.4, 3, 3};
  EXPECT_EQ(hidden_level_bytes(sweep, 0, {3072}), 6144);
  sweep.cycles_per_instruction = {1, 1, 1.4, 1.8, 2.1, 2.4, 2.6, 2.8, 3, 3};
  EXPECT_EQ(hidden_level_bytes(sweep, 0, {3072}), std::nullopt);
}

// Delays below 0.4% of the fitting code's time go unseen: 4% of the code if the next level takes a tenth longer.
TEST(OverlookedPart, IsTheMoreTheLessTheNextLevelTakes) {
  EXPECT_DOUBLE_EQ(overlooked_part({32000, {}, 2, 0.2}), 0.04);
  EXPECT_DOUBLE_EQ(overlooked_part({32000, {}, 2, 2}), 0.01);
  EXPECT_DOUBLE_EQ(overlooked_part({32000, {}, 2, 20}), 0.1) << "another level may hide before the next";
}

TEST(TakesLonger, ByAPartOfWhatTheNextLevelTakes) {
  const CodeComparison code{
      .instructions = 3200, .differences = {0.04, 0.05, 0.06}, .fitting_cycles = 2, .gap_cycles = 3};
  EXPECT_TRUE(takes_longer(code, 0.01));
  EXPECT_FALSE(takes_longer(code, 0.1));
}

TEST(TakesLonger, NotByOneCopyThatWasDisturbed) {
  EXPECT_FALSE(takes_longer({3200, {0, 0, 0.001, 0.9, 0.0}, 2, 3}, 0.01));
  EXPECT_FALSE(takes_longer({3200, {0, 0, 0}, 2, 3}, 0.01));
}

TEST(TakesLonger, NotByWhatCodeThatFitsDiffersBy) {
  EXPECT_FALSE(takes_longer({32000, {0.0079}, 2, 0.3}, 0.01)) << "a part of the time itself";
  EXPECT_TRUE(takes_longer({32000, {0.0081}, 2, 0.3}, 0.01));
  EXPECT_FALSE(takes_longer({96, {0.06}, 2, 3}, 0.01)) << "six cycles of a pass";
  EXPECT_TRUE(takes_longer({96, {0.065}, 2, 3}, 0.01));
}

// ---- the edge ----

CodeCapacity capacity_of(const EdgeBlocks& edge) { return decide_code_capacity(edge).value.value(); }

TEST(CodeCapacity, OfACliffIsWhereItStands) {
  const CodeCapacity capacity = capacity_of({64, 64, 64, 64});
  EXPECT_TRUE(capacity.sharp);
  EXPECT_EQ(capacity.blocks, 64);
  EXPECT_EQ(capacity.least_blocks, 64u);
  EXPECT_EQ(capacity.most_blocks, 65);
}

// 64 blocks in sets of four ways: each excess block makes five miss, a tenth at 65.3 blocks and two fifths at 69.6.
TEST(CodeCapacity, OfAnEdgeUnderLruIsWhereMissesBegin) {
  const CodeCapacity capacity = capacity_of({64, 65, 69, 75});
  EXPECT_TRUE(capacity.sharp);
  EXPECT_NEAR(capacity.beginning, 64.8, 0.05);
  EXPECT_EQ(capacity.blocks, 64);
  EXPECT_EQ(capacity.most_blocks, 66);
}

TEST(CodeCapacity, OfASlowBeginningIsWhereTheEdgeLeadsBackTo) {
  const CodeCapacity capacity = capacity_of({40, 70, 90, 150});
  EXPECT_FALSE(capacity.sharp);
  EXPECT_EQ(capacity.blocks, 66);
  EXPECT_EQ(capacity.least_blocks, 40u);
  EXPECT_EQ(capacity.most_blocks, 151);
}

TEST(CodeCapacity, OfALongTailIsNotBeforeTheFirstMiss) {
  const CodeCapacity capacity = capacity_of({60, 61, 300, 400});
  EXPECT_FALSE(capacity.sharp);
  EXPECT_EQ(capacity.blocks, 60);
  EXPECT_EQ(capacity.most_blocks, 401);
}

// Six KiB in sets of four ways by a hash: the first set overflows at four KiB, and at six more than half misses.
TEST(CodeCapacity, OfAHashedIndexIsNotWhereTheFirstSetOverflows) {
  const CodeCapacity capacity = capacity_of({8, 9, 11, 14});
  EXPECT_FALSE(capacity.sharp);
  EXPECT_FALSE(capacity.in_turn);
  EXPECT_LE(capacity.least_blocks, 12u);
  EXPECT_GE(capacity.most_blocks, 12);
  EXPECT_FALSE(capacity_of({64, 65, 69, 90}).sharp) << "it begins as under LRU, and ends slowly";
}

// The edge of an H200: other code of every pass takes lines of a few sets.
TEST(CodeCapacity, OfAFewSetsThatOverflowEarlierIsStillLru) {
  const CodeCapacity capacity = capacity_of({62, 65, 69, 75});
  EXPECT_FALSE(capacity.sharp);
  EXPECT_TRUE(capacity.in_turn);
  EXPECT_EQ(capacity.blocks, 65);
}

TEST(CodeCapacity, OfALargeCacheMayBeOffByAPart) {
  EXPECT_TRUE(capacity_of({600, 606, 606, 606}).sharp);
  EXPECT_FALSE(capacity_of({600, 607, 607, 607}).sharp);
}

TEST(LastThatFits, IsRightBeforeWhatExceeds) {
  for (std::uint32_t last = 3; last < 20; ++last) {
    EXPECT_EQ(last_that_fits(3, 20, [&](std::uint32_t at) { return at > last; }), last);
  }
}

TEST(LastThatFits, AsksNothingWhereNothingIsBetween) {
  const auto never = [](std::uint32_t) -> bool { throw std::logic_error("asked"); };
  EXPECT_EQ(last_that_fits(7, 8, never), 7u);
  EXPECT_EQ(last_that_fits(7, 7, never), 7u);
  EXPECT_EQ(last_that_fits(7, 0, never), 7u);
}

}  // namespace
}  // namespace gputopo::probe
