// Lines of instruction caches, from stairs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "probe/code/line_decision.h"

namespace gputopo::probe {
namespace {

using testing::DoubleEq;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kSteps = 64;  // times; the stairs are those of all but three
constexpr std::size_t kBlockPeriod = 16;

// A stair every `period` steps, from `first` on.
std::vector<double> stairs(std::size_t period, std::size_t first, double height = 100) {
  std::vector<double> found(kSteps - 3);
  for (std::size_t at = first; at < found.size(); at += period) found[at] = height;
  return found;
}

// Times that rise by `rises`, and by two more cycles at each step.
std::vector<double> times(const std::vector<double>& rises) {
  std::vector<double> found = {1000, 1002};
  for (const double rise : rises) found.push_back(found.back() + rise + 2);
  found.push_back(found.back() + 2);
  return found;
}

// The times of `all` lengths, of which `with` have these rises.
std::vector<std::vector<double>> lengths(std::size_t with, const std::vector<double>& rises, std::size_t all = 9) {
  std::vector<std::vector<double>> found(all, times(std::vector<double>(kSteps - 3)));
  std::fill_n(found.begin(), with, times(rises));
  return found;
}

std::optional<std::size_t> period_of(const std::vector<std::vector<double>>& of_lengths) {
  const Decision<StaircasePeriod> decision = decide_staircase_period(of_lengths, kBlockPeriod);
  EXPECT_NE(decision.value.has_value(), !decision.why_not.empty());
  return decision.value ? std::optional(decision.value->steps) : std::nullopt;
}

bool has_stairs(const std::vector<double>& steps, std::size_t period) {
  return staircase_phase(steps, period).has_value();
}

TEST(StairsOf, AreWhatAStepTakesLongerThanItsNeighbours) {
  EXPECT_THAT(staircase_heights(std::vector<double>{10, 12, 14, 116, 118, 120}), ElementsAre(-50, 100, -50));
}

TEST(StairsOf, ARampAreNone) {
  std::vector<double> ramp;
  for (int i = 0; i < 20; ++i) ramp.push_back(7 * i);
  EXPECT_THAT(staircase_heights(ramp), Each(DoubleEq(0)));
}

TEST(StairsOf, TooFewTimesAreNone) {
  EXPECT_THAT(staircase_heights(std::vector<double>{1, 2, 3}), IsEmpty());
  EXPECT_THAT(staircase_heights({}), IsEmpty());
}

TEST(HasStairs, AtTheirPeriodOnly) {
  for (const std::size_t first : {0u, 3u, 7u}) {
    const std::vector<double> eight = stairs(8, first);
    EXPECT_TRUE(has_stairs(eight, 8));
    EXPECT_FALSE(has_stairs(eight, 16)) << "there are some between";
    EXPECT_FALSE(has_stairs(eight, 4)) << "every second is missing";
  }
}

TEST(HasStairs, OfDifferentHeights) {
  std::vector<double> uneven = stairs(8, 2);
  for (std::size_t at = 2; at < uneven.size(); at += 16) uneven[at] = 60;
  EXPECT_TRUE(has_stairs(uneven, 8));
  for (std::size_t at = 2; at < uneven.size(); at += 16) uneven[at] = 40;
  EXPECT_FALSE(has_stairs(uneven, 8)) << "less than half as high";
}

// Stairs of a hashed index: some lines are the last of a set, initially every second one.
TEST(HasStairs, NotWithSomeOfThemBetween) {
  std::vector<double> some = stairs(8, 2);
  EXPECT_TRUE(has_stairs(some, 8));
  some[6] = 100;
  EXPECT_FALSE(has_stairs(some, 8)) << "one period of seven has a second stair";
  some[6] = 60;
  EXPECT_TRUE(has_stairs(some, 8)) << "that is not as high";
}

TEST(HasStairs, ThatAreHighMayRaiseTheStepsBeside) {
  std::vector<double> some = stairs(8, 2, 10);
  some[2] = some[10] = 100;
  some[3] = some[11] = 20;
  EXPECT_TRUE(has_stairs(some, 8));
}

TEST(HasStairs, NotWhereAllStepsAreEqual) {
  EXPECT_FALSE(has_stairs(std::vector<double>(61, 0), 8));
  EXPECT_FALSE(has_stairs(std::vector<double>(61, 5), 8));
}

TEST(HasStairs, NotInFewSteps) {
  EXPECT_FALSE(has_stairs({}, 8));
  EXPECT_FALSE(has_stairs(std::vector<double>{100}, 8));
  EXPECT_FALSE(has_stairs(std::vector<double>{0, 100, 0}, 2)) << "one period and a half";
  EXPECT_FALSE(has_stairs(stairs(8, 2), 0));
}

TEST(HasStairs, ThroughNoiseAndNotOfIt) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 8);
  std::vector<double> noisy = stairs(8, 5);
  for (double& step : noisy) step += noise(random);
  EXPECT_TRUE(has_stairs(noisy, 8));
  std::vector<double> only(kSteps - 3);
  for (double& step : only) step = noise(random);
  for (const std::size_t period : {2u, 4u, 8u, 16u}) EXPECT_FALSE(has_stairs(only, period));
}

TEST(StaircasePeriod, IsThatOfSeveralLengths) {
  for (const std::size_t period : {2u, 4u, 8u}) EXPECT_EQ(period_of(lengths(4, stairs(period, 1))), period);
  EXPECT_EQ(period_of(lengths(9, stairs(16, 1))), 16u);
}

// Random replacement: misses rise and fall by chance, so a row of stairs may be chance as well.
TEST(StaircasePeriod, IsNoneWhereTimesFallAsMuch) {
  std::vector<double> rises = stairs(8, 1);
  for (std::size_t at = 5; at < rises.size(); at += 8) rises[at] = -40;
  EXPECT_EQ(period_of(lengths(9, rises)), 8u);
  for (std::size_t at = 5; at < rises.size(); at += 8) rises[at] = -70;
  EXPECT_EQ(period_of(lengths(9, rises)), std::nullopt);
}

// A nearer cache with shorter lines: the second half of a line is a hit that keeps the line longer.
TEST(StaircasePeriod, MayBeOfHalvesWhereEverySecondStairIsLower) {
  const auto alternates = [](const std::vector<double>& rises) {
    const Decision<StaircasePeriod> decision = decide_staircase_period(lengths(9, rises), kBlockPeriod);
    return decision.value && decision.value->steps == 4 && decision.value->alternates;
  };
  std::vector<double> rises = stairs(4, 1);
  EXPECT_FALSE(alternates(rises));
  for (std::size_t at = 1; at < rises.size(); at += 8) rises[at] = 80;
  EXPECT_TRUE(alternates(rises));
  rises[9] = 100;
  EXPECT_TRUE(alternates(rises)) << "one of the lower is not";
}

TEST(StaircasePeriod, MayBeOfHalvesWhereLowerStairsAreBetween) {
  std::vector<double> rises = stairs(8, 1);
  for (std::size_t at = 5; at < rises.size(); at += 8) rises[at] = 36;
  const Decision<StaircasePeriod> decision = decide_staircase_period(lengths(9, rises), kBlockPeriod);
  ASSERT_TRUE(decision.value);
  EXPECT_EQ(decision.value->steps, 8u);
  EXPECT_TRUE(decision.value->alternates);
}

TEST(StaircasePeriod, AlternatesByRanksThoughOneStairIsOdd) {
  std::vector<double> stairs;
  for (int i = 0; i < 8; ++i) stairs.insert(stairs.end(), {80.0 + i, 0, 100.0 + i, 0});
  stairs[4] = 103;
  EXPECT_TRUE(stairs_alternate(stairs, 2, 0));
  for (std::size_t i = 0; i < stairs.size(); i += 4) std::swap(stairs[i], stairs[i + (i % 8 == 0 ? 2 : 0)]);
  EXPECT_FALSE(stairs_alternate(stairs, 2, 0)) << "lower ones on either side";
}

TEST(OwnStairs, AreHigherThanWhatNearerLinesCost) {
  // Lines of 8 instructions: each in the nearest cache costs 8 * (3 - 1) = 16 cycles, a miss of this one 8 * 2 more.
  EXPECT_FALSE(is_own_staircase(17, 8, 1, 3, 5));
  EXPECT_TRUE(is_own_staircase(32, 8, 1, 3, 5));
}

TEST(StaircasePeriod, OfFewStairsDoesNotTellWhetherTheyAlternate) {
  EXPECT_TRUE(stairs_alternate(std::vector<double>{50, 0, 90, 0, 50, 0, 90, 0, 50, 0, 90, 0}, 2, 0));
  EXPECT_FALSE(stairs_alternate(std::vector<double>{50, 0, 90, 0, 50, 0, 90, 0, 50, 0}, 2, 0));
}

TEST(StaircasePeriod, OfOneLengthIsNone) {
  EXPECT_EQ(period_of(lengths(1, stairs(8, 1))), std::nullopt) << "something else begins to miss there";
}

// Stairs as far apart as the lengths: a different stair shows at each length.
TEST(StaircasePeriod, OfABlockMustShowAtHalfOfTheLengths) {
  EXPECT_EQ(period_of(lengths(4, stairs(16, 1))), std::nullopt);
  EXPECT_EQ(period_of(lengths(5, stairs(16, 1))), 16u);
}

TEST(StaircasePeriod, OfWhateverIsAllThereIs) {
  EXPECT_EQ(period_of(lengths(1, stairs(8, 1), 1)), 8u);
  EXPECT_EQ(period_of({}), std::nullopt);
  EXPECT_EQ(period_of(lengths(0, {})), std::nullopt);
  EXPECT_EQ(period_of(lengths(9, stairs(1, 0))), std::nullopt) << "every step is as high";
}

TEST(LineOfPeriod, IsAPowerOfTwo) {
  EXPECT_EQ(line_of_period(4, 2, 16), 128);
  EXPECT_EQ(line_of_period(4, 2, 16.5), 128) << "with control words";
  EXPECT_EQ(line_of_period(4, 2, 8), 64);
  EXPECT_EQ(line_of_period(2, 2, 10.7), 32) << "43 B are nearer 32 than 64, by their logarithms";
}

}  // namespace
}  // namespace gputopo::probe
