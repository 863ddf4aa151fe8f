#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "probe/tlb/step_decision.h"

namespace gputopo::probe {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// This many points at each level.
std::vector<double> sweep_of(const std::vector<std::pair<int, double>>& levels, double noise_cycles = 0) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> noise(-noise_cycles, noise_cycles);
  std::vector<double> cycles;
  for (const auto& [points, level] : levels) {
    for (int i = 0; i < points; ++i) cycles.push_back(level + (noise_cycles > 0 ? noise(random) : 0));
  }
  return cycles;
}

void expect_rise(const TlbRise& rise, std::size_t last_before, std::size_t first_after, double before, double cycles) {
  EXPECT_EQ(rise.last_before, last_before);
  EXPECT_EQ(rise.first_after, first_after);
  EXPECT_NEAR(rise.before_cycles, before, 0.5);
  EXPECT_NEAR(rise.rise_cycles, cycles, 0.5);
}

TEST(TlbSteps, AreWhereLatencyRisesToStay) {
  const std::vector<TlbRise> rises = find_tlb_rises(sweep_of({{10, 2}, {12, 11}, {8, 90}}));
  ASSERT_THAT(rises, SizeIs(2));
  expect_rise(rises[0], 9, 10, 2, 9);
  expect_rise(rises[1], 21, 22, 11, 79);
}

TEST(TlbSteps, ARampIsOneStepFromItsFootToItsTop) {
  const std::vector<TlbRise> rises = find_tlb_rises(sweep_of({{10, 0}, {1, 6}, {1, 12}, {1, 18}, {1, 24}, {10, 25}}));
  ASSERT_THAT(rises, SizeIs(1));
  expect_rise(rises[0], 9, 13, 0, 25);
}

TEST(TlbSteps, OfTwoLevelsThatTouchOneIsSeen) {
  const std::vector<TlbRise> rises = find_tlb_rises(sweep_of({{10, 0}, {1, 10}, {10, 30}}));
  ASSERT_THAT(rises, SizeIs(1));
  expect_rise(rises[0], 9, 11, 0, 30);
}

TEST(TlbSteps, TwoPointsBetweenThemTellLevelsApart) {
  const std::vector<TlbRise> rises = find_tlb_rises(sweep_of({{10, 0}, {2, 10}, {10, 30}}));
  ASSERT_THAT(rises, SizeIs(2));
  expect_rise(rises[0], 9, 10, 0, 10);
  expect_rise(rises[1], 11, 12, 10, 20);
}

TEST(TlbSteps, WhatGoesBackIsNone) {
  EXPECT_THAT(find_tlb_rises(sweep_of({{10, 0}, {1, 40}, {10, 0}})), IsEmpty());
  EXPECT_THAT(find_tlb_rises(sweep_of({{10, 0}, {2, 40}, {10, 0}})), IsEmpty());
  EXPECT_THAT(find_tlb_rises(sweep_of({{10, 0}, {1, 20}, {1, 40}, {1, 20}, {10, 0}})), IsEmpty());
}

TEST(TlbSteps, TheLastPointMayBeBeyondOne) {
  const std::vector<TlbRise> rises = find_tlb_rises(sweep_of({{10, 0}, {1, 40}}));
  ASSERT_THAT(rises, SizeIs(1));
  expect_rise(rises[0], 9, 10, 0, 40);
}

TEST(TlbSteps, StandOutOfNoise) {
  const std::vector<TlbRise> rises = find_tlb_rises(sweep_of({{20, 5}, {20, 25}}, 1));
  ASSERT_THAT(rises, SizeIs(1));
  EXPECT_EQ(rises[0].last_before, 19u);
  EXPECT_NEAR(rises[0].rise_cycles, 20, 1);
  EXPECT_THAT(find_tlb_rises(sweep_of({{20, 5}, {20, 10}}, 4)), IsEmpty()) << "and what does not is none";
  EXPECT_THAT(find_tlb_rises(sweep_of({{40, 5}}, 4)), IsEmpty());
}

TEST(TlbSteps, OfNothing) {
  EXPECT_THAT(find_tlb_rises({}), IsEmpty());
  EXPECT_THAT(find_tlb_rises({7}), IsEmpty());
  EXPECT_THAT(find_tlb_rises(sweep_of({{30, 7}})), IsEmpty()) << "all are equal";
}

// With at most 215 pages, they are one entry apart from 190 MB on, and this distance doubles with each octave.
TEST(FallBack, IsTheSameLevelOnceMore) {
  const TlbRise last{.before_cycles = -0.1, .rise_cycles = 39};
  EXPECT_TRUE(has_fallen_back({.before_cycles = 19.9, .rise_cycles = 19}, last));
  EXPECT_FALSE(has_fallen_back({.before_cycles = 37.5, .rise_cycles = 19}, last));
  EXPECT_FALSE(has_fallen_back({.before_cycles = 8, .rise_cycles = 10}, {.before_cycles = -0.1, .rise_cycles = 8.1}));
}

TEST(TlbRisePassing, GoesIntoTheLevelThatFollowsIt) {
  const TlbRise passing{.last_before = 10, .first_after = 11, .before_cycles = 1, .rise_cycles = 38};
  const TlbRise all =
      with_passing({.last_before = 12, .first_after = 13, .before_cycles = 39, .rise_cycles = 10}, passing);
  EXPECT_EQ(all.last_before, 12u);
  EXPECT_EQ(all.first_after, 13u);
  EXPECT_DOUBLE_EQ(all.before_cycles, 1);
  EXPECT_DOUBLE_EQ(all.rise_cycles, 48);
  const TlbRise alone =
      with_passing({.last_before = 20, .first_after = 21, .before_cycles = 2, .rise_cycles = 47}, passing);
  EXPECT_DOUBLE_EQ(alone.before_cycles, 2) << "loads went back";
  EXPECT_DOUBLE_EQ(alone.rise_cycles, 47);
}

}  // namespace
}  // namespace gputopo::probe
