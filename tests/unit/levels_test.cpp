// Levels of a hierarchy, from latencies that are hard to separate.
#include "stats/levels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gputopo::stats {
namespace {

// Loads around a latency, with a spread in cycles.
Histogram around(double cycles, double spread, double count = 10'000) {
  Histogram histogram(512);
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    const double distance = (2.0 * static_cast<double>(bin) + 0.5 - cycles) / spread;
    histogram[bin] = static_cast<std::uint32_t>(count * std::exp(-distance * distance / 2) / spread);
  }
  return histogram;
}

Histogram mixed(const Histogram& one, const Histogram& other, double part_of_other) {
  Histogram sum(512);
  for (std::size_t bin = 0; bin < sum.size(); ++bin) {
    sum[bin] = static_cast<std::uint32_t>((1 - part_of_other) * one[bin] + part_of_other * other[bin]);
  }
  return sum;
}

TEST(LevelsOfHierarchies, ARampOfFootprintsIsTwoLevels) {
  const Histogram near = around(40, 2);
  const Histogram far = around(250, 15);
  std::vector<Histogram> footprints;
  for (int part = 0; part <= 10; ++part) footprints.push_back(mixed(near, far, part / 10.0));
  const std::vector<Level> levels = find_levels(footprints);
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_NEAR(levels[0].mode_cycles, 40, 2);
  EXPECT_NEAR(levels[1].mode_cycles, 250, 10);
  EXPECT_EQ(levels[0].low_cycles, 0);
  EXPECT_EQ(levels[0].high_cycles, levels[1].low_cycles);
  EXPECT_EQ(levels[1].high_cycles, std::numeric_limits<double>::infinity());
}

TEST(LevelsOfHierarchies, ModesThatTouchAreOneLevelUnlessAValleyIsBetweenThem) {
  const std::vector<Histogram> touching = {around(200, 15), around(220, 15)};
  EXPECT_EQ(find_levels(touching).size(), 1u);
  const std::vector<Histogram> apart = {around(200, 15), around(300, 15)};
  EXPECT_EQ(find_levels(apart).size(), 2u);
}

TEST(LevelsOfHierarchies, ALevelIsWhatSomeFootprintNearlyAllHits) {
  // A fifth of every footprint is fast, regardless of its size: slices of one cache, not a separate cache.
  const Histogram mixture = mixed(around(300, 10), around(150, 8), 0.2);
  const std::vector<Histogram> footprints(4, mixture);
  EXPECT_EQ(find_levels(footprints).size(), 1u);
}

TEST(LevelsOfHierarchies, AllEqualIsOneLevel) {
  Histogram same(512);
  same[50] = 4096;
  const std::vector<Histogram> footprints(3, same);
  const std::vector<Level> levels = find_levels(footprints);
  ASSERT_EQ(levels.size(), 1u);
  EXPECT_NEAR(levels[0].mode_cycles, 101, 2);
  EXPECT_EQ(levels[0].high_cycles, std::numeric_limits<double>::infinity());
}

TEST(LevelsOfHierarchies, OneLoadIsALevelAndNoneIsNone) {
  Histogram one(512);
  one[100] = 1;
  EXPECT_EQ(find_levels(std::vector<Histogram>{one}).size(), 1u);
  EXPECT_TRUE(find_levels(std::vector<Histogram>{Histogram{}, Histogram(512)}).empty());
}

TEST(LevelsOfHierarchies, NoiseFarOutIsNoLevel) {
  // Two of a hundred loads are delayed by up to a thousand cycles.
  Histogram noisy = around(40, 2);
  for (std::size_t bin = 50; bin < 512; ++bin) noisy[bin] += 1;
  const std::vector<Histogram> footprints = {noisy, noisy, noisy};
  EXPECT_EQ(find_levels(footprints).size(), 1u);
}

}  // namespace
}  // namespace gputopo::stats
