// From each SM's latencies of the same lines to the number of slices.
#include "probe/partitions/slices_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace gputopo::probe {
namespace {

using ::testing::HasSubstr;

// Line i lies in slice i mod `slices`. Each SM reaches each slice in its own time, with noise.
CyclesOfPasses chip(std::size_t sms, std::size_t lines, std::size_t passes, std::size_t slices, double noise) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> way(0, 60);
  std::normal_distribution<double> jitter(0, noise);
  CyclesOfPasses cycles(sms);
  for (auto& of_sm : cycles) {
    std::vector<double> to_slice(slices);
    for (double& there : to_slice) there = 250 + way(random);
    for (std::size_t line = 0; line < lines; ++line) {
      auto& of_line = of_sm.emplace_back();
      for (std::size_t pass = 0; pass < passes; ++pass) {
        of_line.push_back(static_cast<std::uint32_t>(to_slice[line % slices] + jitter(random)));
      }
    }
  }
  return cycles;
}

TEST(SlicesDecision, CountsLinesThatAreAlikeFromEverySm) {
  for (const std::size_t slices : {4u, 12u, 24u}) {
    const auto found = decide_slices(chip(32, 16 * slices, 16, slices, 3));
    ASSERT_TRUE(found.value) << found.why_not;
    EXPECT_EQ(found.value->count, static_cast<std::int64_t>(slices));
    EXPECT_LE(found.value->interval.low, static_cast<double>(slices));
    EXPECT_GE(found.value->interval.high, static_cast<double>(slices));
    EXPECT_GT(found.value->noise_cycles, 0.5);
  }
}

TEST(SlicesDecision, SaysNothingWhereAllLinesAreAlike) {
  const auto noise = decide_slices(chip(32, 128, 16, 1, 3));
  EXPECT_FALSE(noise.value);
  EXPECT_THAT(noise.why_not, HasSubstr("all lines look alike"));
  const auto equal = decide_slices(CyclesOfPasses(8, {64, std::vector<std::uint32_t>(16, 280)}));
  EXPECT_FALSE(equal.value);
  EXPECT_THAT(equal.why_not, HasSubstr("all lines look alike"));
}

// The slices' distances differ by about the noise, so their number depends on the noise that is assumed.
TEST(SlicesDecision, SaysNothingWhereTheCountDependsOnWhatIsNoise) {
  CyclesOfPasses ramp(16);
  std::mt19937_64 random(5);
  std::normal_distribution<double> jitter(0, 4);
  for (auto& of_sm : ramp) {
    for (std::size_t line = 0; line < 240; ++line) {
      auto& of_line = of_sm.emplace_back();
      for (int pass = 0; pass < 16; ++pass) {
        of_line.push_back(static_cast<std::uint32_t>(280 + 0.15 * static_cast<double>(line) + jitter(random)));
      }
    }
  }
  EXPECT_FALSE(decide_slices(ramp).value);
}

// Two slices that all SMs reach in the same time form one group with twice the lines; the interval must allow for it.
TEST(SlicesDecision, AllowsForSlicesThatLieTogether) {
  CyclesOfPasses cycles = chip(32, 128, 16, 8, 3);
  for (auto& of_sm : cycles) {
    for (std::size_t line = 7; line < of_sm.size(); line += 8) of_sm[line] = of_sm[line - 1];
  }
  const auto found = decide_slices(cycles);
  ASSERT_TRUE(found.value) << found.why_not;
  EXPECT_EQ(found.value->count, 7);
  EXPECT_DOUBLE_EQ(found.value->interval.high, 8);
}

TEST(SlicesDecision, NeedsLinesThatAreLoadedAgain) {
  EXPECT_THAT(decide_slices({}).why_not, HasSubstr("no line"));
  EXPECT_THAT(decide_slices({{}, {}}).why_not, HasSubstr("no line"));
  EXPECT_THAT(decide_slices({{{280}, {290}}, {{300}, {310}}}).why_not, HasSubstr("loaded once"));
  EXPECT_FALSE(decide_slices({{{280, 281}}, {{300, 301}}}).value) << "one line";
}

}  // namespace
}  // namespace gputopo::probe
