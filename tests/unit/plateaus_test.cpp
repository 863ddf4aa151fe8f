#include "stats/plateaus.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gputopo::stats {
namespace {

// Sixteen points per octave; `value` is a function of the position.
template <typename Value>
std::vector<Plateau> plateaus_of(double from, double to, Value value) {
  std::vector<double> positions;
  std::vector<double> values;
  for (int i = 0; from * std::exp2(i / 16.0) < to; ++i) {
    const double at = from * std::exp2(i / 16.0);
    positions.push_back(at);
    values.push_back(value(at));
  }
  return find_plateaus(positions, values);
}

TEST(Plateaus, StepsAreApart) {
  const auto found = plateaus_of(1, 256, [](double at) { return at < 8 ? 1.0 : at < 64 ? 2.2 : 5.5; });
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].first, 0u);
  EXPECT_EQ(found[0].last, 47u);
  EXPECT_EQ(found[1].first, 48u);
  EXPECT_EQ(found[1].value, 2.2);
  EXPECT_EQ(found[2].last, 127u);
}

TEST(Plateaus, ARampBelongsToNeither) {
  const auto found = plateaus_of(1, 64, [](double at) { return at < 8 ? 1.0 : at < 16 ? at / 8 : 2.0; });
  ASSERT_EQ(found.size(), 2u);
  EXPECT_LE(found[0].last, 49u);
  EXPECT_GE(found[1].first, 63u);
}

TEST(Plateaus, NoiseAndSlowSlopesMakeNoNewOne) {
  const auto found = plateaus_of(1, 1024, [](double at) { return 1 + 0.003 * std::log2(at) + 0.004 * std::sin(at); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, 0u);
}

// A cache with lines four times as long as the nearer cache's shows only a quarter of its extra cost.
TEST(Plateaus, WideFlatOnesAreApartByLess) {
  const auto found = plateaus_of(1, 256, [](double at) { return at < 4 ? 1.12 : at < 16 ? 3.09 : 3.37; });
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1].value, 3.09);
  EXPECT_EQ(found[2].value, 3.37);
  EXPECT_EQ(plateaus_of(1, 256, [](double at) { return at < 4     ? 1.12
                                                       : at < 5.5 ? 3.09
                                                                  : 3.37; }).size(), 2u)
      << "a narrow one may be the stairs of sets";
}

// Each pass has a one-time cost, so the step fades as the code grows.
TEST(Plateaus, AStepThatFadesIsNone) {
  EXPECT_EQ(plateaus_of(1, 256, [](double at) { return at < 8 ? 1.16 : 1.16 + 0.8 / at; }).size(), 1u);
}

// Nearly separate: a fifth more, which does not fade.
TEST(Plateaus, AStepThatStaysMayBeAnotherLevel) {
  const auto stays = plateaus_of(1, 256, [](double at) { return at < 8 ? 1.16 : 1.36 + 0.02 * std::sin(at); });
  ASSERT_EQ(stays.size(), 1u);
  EXPECT_TRUE(stays[0].may_be_two);
  const auto fades = plateaus_of(1, 256, [](double at) { return at < 8 ? 1.16 : 1.16 + 1.6 / at; });
  ASSERT_EQ(fades.size(), 1u);
  EXPECT_FALSE(fades[0].may_be_two);
}

// Sets overflow one by one: for a while, longer code adds no misses.
TEST(Plateaus, WhatFallsInANarrowOneIsNone) {
  const auto missing = [](double at) {
    return at < 26 ? 2.25 : at < 36 ? 2.25 + 14.4 / at : at < 60 ? 2.8 + (at - 36) / 8 : 5.82;
  };
  const auto found = plateaus_of(1, 512, missing);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].value, 5.82);
}

TEST(Plateaus, ASlopeHasNone) {
  EXPECT_TRUE(plateaus_of(1, 1024, [](double at) { return at; }).empty());
  EXPECT_TRUE(find_plateaus({}, {}).empty());
}

}  // namespace
}  // namespace gputopo::stats
