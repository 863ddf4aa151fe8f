#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "stats/change_point.h"
#include "stats/descriptive.h"
#include "stats/distributions.h"
#include "stats/levels.h"

namespace gputopo::stats {
namespace {

using testing::ElementsAre;

TEST(Descriptive, QuantilesInterpolateBetweenOrderStatistics) {
  const std::vector<double> values = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
  EXPECT_DOUBLE_EQ(median(values), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 1.75);
}

TEST(Descriptive, RobustDeviationIgnoresAnOutlier) {
  EXPECT_NEAR(robust_deviation(std::vector<double>{1, 2, 3, 4, 5, 1000}), 1.4826 * 1.5, 1e-9);
}

TEST(Descriptive, TrimmedMeanLeavesOutBothEnds) {
  EXPECT_DOUBLE_EQ(trimmed_mean(std::vector<double>{0, 10, 11, 12, 1000}, 0.2), 11);
}

// Clopper and Pearson 1934; values from R's binom.test.
TEST(Descriptive, ProportionIntervalIsExact) {
  const Interval some = proportion_interval(8, 10);
  EXPECT_NEAR(some.low, 0.4439045, 1e-6);
  EXPECT_NEAR(some.high, 0.9747893, 1e-6);
  EXPECT_DOUBLE_EQ(proportion_interval(0, 10).low, 0);
  EXPECT_NEAR(proportion_interval(0, 10).high, 0.3084971, 1e-6);
  EXPECT_DOUBLE_EQ(proportion_interval(10, 10).high, 1);
}

// Student's t with 4 degrees of freedom: 2.776445.
TEST(Descriptive, MeanIntervalIsStudents) {
  const Interval interval = mean_interval(std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_NEAR(interval.high - 3, 2.776445 * std::sqrt(2.5 / 5), 1e-5);
  EXPECT_NEAR(3 - interval.low, interval.high - 3, 1e-12);
}

// By hand: at least three heads of four coins, and the closed form for two degrees of freedom.
TEST(Distributions, TailsAreExact) {
  EXPECT_NEAR(binomial_upper_tail(2, 4, 0.5), 5.0 / 16, 1e-12);
  EXPECT_EQ(binomial_upper_tail(4, 4, 0.5), 0);
  EXPECT_EQ(binomial_upper_tail(0, 4, 1), 1);
  EXPECT_NEAR(chi_squared_upper_tail(3, 2), std::exp(-1.5), 1e-12);
  EXPECT_EQ(chi_squared_upper_tail(0, 2), 1);
}

TEST(Descriptive, LineIsFitted) {
  const Line line = fit_line(std::vector<double>{0, 1, 2}, std::vector<double>{1, 3, 5});
  EXPECT_DOUBLE_EQ(line.intercept, 1);
  EXPECT_DOUBLE_EQ(line.slope, 2);
}

TEST(ChangePoint, GeometricMappingMeasuresTheDistanceFromTheMinimum) {
  const std::vector<std::vector<double>> rows = {{3, 3}, {3, 7}, {7, 7}};
  EXPECT_THAT(geometric_mapping(rows), ElementsAre(0, testing::DoubleNear(std::sqrt(8), 1e-12), 4));
}

TEST(ChangePoint, OptFindsTheStep) {
  EXPECT_EQ(optimal_change_point(std::vector<double>{1, 1, 1, 1, 5, 5}), 4u);
  EXPECT_EQ(optimal_change_point(std::vector<double>{1}), std::nullopt);
}

TEST(ChangePoint, KolmogorovSmirnovTellsDistributionsApart) {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> shifted;
  for (int i = 0; i < 400; ++i) {
    a.push_back(normal(generator));
    b.push_back(normal(generator));
    shifted.push_back(normal(generator) + 1);
  }
  EXPECT_FALSE(kolmogorov_smirnov(a, b).different);
  EXPECT_TRUE(kolmogorov_smirnov(a, shifted).different);
  EXPECT_FALSE(kolmogorov_smirnov({}, a).different);
}

TEST(ChangePoint, SmallShiftsOfFewValuesAreRejected) {
  EXPECT_EQ(find_change_point(std::vector<double>{1, 1.1, 1, 1.2}), std::nullopt);
  std::vector<double> step(60, 1.0);
  step.insert(step.end(), 60, 2.0);
  const auto change = find_change_point(step);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->index, 60u);
}

TEST(ChangePoint, BracketDoublesThenHalves) {
  int asked = 0;
  const auto bracket = bracket_size(1024, 1 << 20, 32, [&](std::uint64_t size) {
    ++asked;
    return size > 25600;
  });
  ASSERT_TRUE(bracket);
  EXPECT_LE(bracket->fits, 25600u);
  EXPECT_GT(bracket->exceeds, 25600u);
  EXPECT_LE(bracket->exceeds - bracket->fits, 32u);
  EXPECT_LT(asked, 20);
  EXPECT_EQ(bracket_size(1024, 1 << 16, 32, [](std::uint64_t) { return false; }), std::nullopt);
}

Histogram loads(std::initializer_list<std::pair<int, std::uint32_t>> counts) {
  Histogram histogram(512);
  for (const auto& [cycles, count] : counts) histogram[static_cast<std::size_t>(cycles / 2)] += count;
  return histogram;
}

TEST(Levels, TwoCachesAndMemoryAreThreeLevels) {
  const std::vector<Histogram> footprints = {loads({{34, 1000}}), loads({{34, 500}, {270, 500}}), loads({{270, 1000}}),
                                             loads({{270, 300}, {640, 700}})};
  const std::vector<Level> levels = find_levels(footprints);
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_GT(levels[0].high_cycles, 40);
  EXPECT_LT(levels[0].high_cycles, 260);
  EXPECT_GT(levels[1].high_cycles, 290);
  EXPECT_LT(levels[1].high_cycles, 620);
  EXPECT_EQ(levels[2].high_cycles, std::numeric_limits<double>::infinity());
}

TEST(Levels, SlicesAtDifferentDistancesAreOneLevel) {
  const std::vector<Histogram> footprints = {loads({{200, 500}, {300, 500}}), loads({{200, 500}, {300, 500}}),
                                             loads({{200, 50}, {300, 50}, {640, 900}})};
  EXPECT_EQ(find_levels(footprints).size(), 2u);
}

TEST(Levels, RareOutliersMakeNoLevel) {
  const std::vector<Histogram> footprints = {loads({{34, 990}, {150, 10}}), loads({{34, 10}, {150, 10}, {300, 980}})};
  EXPECT_EQ(find_levels(footprints).size(), 2u);
}

TEST(Levels, NoLoadsHaveNoLevels) { EXPECT_TRUE(find_levels(std::vector<Histogram>{}).empty()); }

TEST(HistogramStatistics, BandsAndQuantiles) {
  const Histogram histogram = loads({{10, 90}, {100, 10}});
  EXPECT_EQ(total_count(histogram), 100u);
  EXPECT_DOUBLE_EQ(fraction_below(histogram, 50), 0.9);
  EXPECT_NEAR(histogram_quantile(histogram, 0.5), 10.5, 1e-9);
  EXPECT_NEAR(summarise_band(histogram, 50, 200).mean, 100.5, 1e-9);
  EXPECT_EQ(summarise_band(histogram, 200, 300).count, 0u);
}

}  // namespace
}  // namespace gputopo::stats
