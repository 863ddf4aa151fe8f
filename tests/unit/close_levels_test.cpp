// Levels of nearly the same latency, found by the share of the nearer one.
#include "stats/close_levels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gputopo::stats {
namespace {

// `near_part` of the loads lies around one latency, the rest around another.
Histogram loads(double near_part, double near, double far, double spread) {
  Histogram histogram(256);
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    const double cycles = 2.0 * static_cast<double>(bin) + 0.5;
    const auto density = [&](double around) { return std::exp(-std::pow((cycles - around) / spread, 2) / 2) / spread; };
    histogram[bin] = static_cast<std::uint32_t>(2000 * (near_part * density(near) + (1 - near_part) * density(far)));
  }
  return histogram;
}

std::vector<Histogram> sweep(const std::vector<double>& near_parts, double near, double far, double spread) {
  std::vector<Histogram> footprints;
  for (const double part : near_parts) footprints.push_back(loads(part, near, far, spread));
  return footprints;
}

const Level kAll{0, std::numeric_limits<double>::infinity(), 0};

TEST(CloseLevels, AreTwoWhereTheNearOneShrinks) {
  // Latencies of 28 and 36 cycles plus a timer cost of 12, with a jitter of 2.
  const std::vector<Histogram> footprints = sweep({1, 1, 1, 1, 0.5, 0, 0}, 40, 48, 2);
  const auto found = find_close_levels(footprints, kAll);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_distinguishable) << found->misjudged;
  EXPECT_NEAR(found->near_cycles, 40, 1);
  EXPECT_NEAR(found->far_cycles, 48, 1);
  EXPECT_NEAR(found->boundary_cycles, 44, 1.5);
  std::optional<std::size_t> unsure;
  const std::vector<Level> levels = split_close_levels(footprints, {kAll}, unsure);
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_FALSE(unsure);
  EXPECT_EQ(levels[0].high_cycles, levels[1].low_cycles);
}

TEST(CloseLevels, OfWhichHalfStaysNear) {
  const auto found = find_close_levels(sweep({1, 1, 1, 1, 0.8, 0.6, 0.5, 0.5}, 260, 300, 6), kAll);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_distinguishable);
  EXPECT_NEAR(found->far_cycles, 300, 4);
}

TEST(CloseLevels, UnderMoreNoiseAreNotToldApart) {
  const std::vector<Histogram> footprints = sweep({1, 1, 1, 1, 0.5, 0, 0}, 40, 48, 5);
  const auto found = find_close_levels(footprints, kAll);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_distinguishable);
  std::optional<std::size_t> unsure;
  EXPECT_EQ(split_close_levels(footprints, {kAll}, unsure).size(), 1u);
  EXPECT_EQ(unsure, std::size_t{0});
}

// One level has ten times as many loads as the other, so more of its tail than usual lies in the valley.
TEST(CloseLevels, AValleyThatOneLevelFillsIsClearForAllThat) {
  std::vector<double> parts(24, 1.0);
  parts.insert(parts.end(), {0.4, 0.4});
  const std::vector<Histogram> footprints = sweep(parts, 23, 34, 2.4);
  std::optional<std::size_t> unsure;
  const std::vector<Level> levels = split_close_levels(footprints, {{0, 29, 23}, {29, 84, 34}}, unsure);
  EXPECT_EQ(levels.size(), 2u);
  EXPECT_FALSE(unsure);
  EXPECT_GT(levels[0].misjudged, 0.002) << "some are taken for the other's all the same";
  EXPECT_EQ(levels[1].misjudged, levels[0].misjudged);
}

// A cache of 512 B: a tiny array and one footprint fit, and all following ones do not. Latencies are 34 and 55 cycles
// with a jitter of 5, so a few misses look like hits at every footprint.
TEST(CloseLevels, FarApartLoadsMayBeTakenForTheNearerOnes) {
  const std::vector<Histogram> footprints = sweep({1, 1, 1, 0.5, 0, 0}, 34, 55, 5);
  std::optional<std::size_t> unsure;
  const std::vector<Level> levels = split_close_levels(footprints, {{0, 46, 34}, {46, 1e9, 55}}, unsure);
  EXPECT_FALSE(unsure);
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_GT(levels[0].misjudged, 0.01);
  EXPECT_LT(levels[0].misjudged, 0.05);
  std::optional<std::size_t> quiet;
  EXPECT_LT(
      split_close_levels(sweep({1, 1, 1, 0.5, 0, 0}, 34, 55, 1), {{0, 46, 34}, {46, 1e9, 55}}, quiet)[0].misjudged,
      1e-3);
}

TEST(CloseLevels, TheNearOneMayBeOfTheFirstFootprintsOnly) {
  CloseLevelParameters parameters;
  for (const std::vector<double>& parts : {std::vector<double>{1, 0, 0, 0, 0}, {1, 1, 0, 0, 0}}) {
    const std::vector<Histogram> footprints = sweep(parts, 34, 41.5, 0.8);
    parameters.least_first_footprints = 3;
    EXPECT_FALSE(find_close_levels(footprints, kAll, parameters));
    parameters.least_first_footprints = 1;
    const auto found = find_close_levels(footprints, kAll, parameters);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_distinguishable);
    EXPECT_NEAR(found->near_cycles, 34, 1);
  }
  EXPECT_FALSE(find_close_levels({}, kAll, parameters));
}

// The tiny array ran first, with many loads. Since then, half of the nearer level's loads have moved to the next bin.
TEST(CloseLevels, AreToldThoughTheClockMovesQuietLoadsByABin) {
  std::vector<Histogram> footprints(8, Histogram(256));
  footprints[0][74] = 3200;
  footprints[0][75] = 1800;
  for (std::size_t i = 1; i < 5; ++i) footprints[i][74] = footprints[i][75] = 380;
  for (std::size_t i = 5; i < 8; ++i) footprints[i][82] = footprints[i][83] = 380;
  const auto found = find_close_levels(footprints, kAll);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_distinguishable);
  EXPECT_NEAR(found->boundary_cycles, 158, 7);
}

TEST(CloseLevels, AMixtureThatDoesNotMoveIsOne) {
  EXPECT_FALSE(find_close_levels(sweep({0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, 40, 48, 2), kAll));
  EXPECT_FALSE(find_close_levels(sweep({1, 1, 1, 1, 1, 1}, 40, 48, 2), kAll));
}

// Near hits of an H200's L2: the few lines of the first four footprints lay in slices nearer than most.
TEST(CloseLevels, AShareThatFallsOnceAndStaysIsChance) {
  const std::vector<double> parts = {1, 1, 1, 1, 0.63, 0.74, 0.7, 0.73, 0.74, 0.72, 0.74, 0.73};
  EXPECT_FALSE(find_close_levels(sweep(parts, 60, 66, 2), kAll));
  std::vector<double> falling = parts;
  for (std::size_t i = 8; i < falling.size(); ++i) falling[i] -= 0.12;
  EXPECT_TRUE(find_close_levels(sweep(falling, 60, 66, 2), kAll)) << "of a large cache";
}

TEST(CloseLevels, OneFootprintThatANeighbourSpoilsIsNone) {
  EXPECT_FALSE(find_close_levels(sweep({1, 1, 1, 0.2, 1, 1, 1}, 40, 48, 2), kAll));
  EXPECT_FALSE(find_close_levels(sweep({1, 1, 1, 1, 1, 0.2}, 40, 48, 2), kAll));
}

TEST(CloseLevels, AShiftOfTheClockIsNone) {
  std::vector<Histogram> footprints = sweep({1, 1, 1, 1}, 60, 60, 0.7);
  for (int i = 0; i < 4; ++i) footprints.push_back(loads(1, 61, 61, 0.7));
  EXPECT_FALSE(find_close_levels(footprints, kAll));
}

}  // namespace
}  // namespace gputopo::stats
