// How rare values are: stats/tail_fit on literals and on draws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "stats/solve.h"
#include "stats/tail_fit.h"

namespace gputopo::stats {
namespace {

std::vector<double> normal_values(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(10, 2);
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

TEST(TailFit, FindsCentreAndScaleOfNormalValues) {
  const TailFit fit = fit_tails(normal_values(2000, 1));
  EXPECT_NEAR(fit.centre, 10, 0.2);
  EXPECT_NEAR(fit.scale_below, 2, 0.2);
  EXPECT_NEAR(fit.scale_above, 2, 0.2);
  EXPECT_NEAR(fit.score(14), 2, 0.25);
  EXPECT_NEAR(fit.score(4), -3, 0.4);
  EXPECT_EQ(fit.score(fit.centre), 0);
}

TEST(TailFit, OutliersHaveNoSay) {
  std::vector<double> values = normal_values(200, 2);
  const double before = fit_tails(values).scale_above;
  for (std::size_t i = 0; i < 3; ++i) values[i] = 1000;
  EXPECT_NEAR(fit_tails(values).scale_above, before, 0.25 * before);
  EXPECT_GT(fit_tails(values).score(1000), 10);
}

TEST(TailFit, HeavyTailsAreNoSurprise) {
  std::mt19937_64 random(3);
  std::student_t_distribution<double> heavy(3);
  std::vector<double> values(2000);
  for (double& value : values) value = heavy(random);
  const TailFit fit = fit_tails(values);
  EXPECT_LT(fit.freedom, 8);
  const TailFit normal = fit_tails(normal_values(2000, 4));
  EXPECT_GT(normal.freedom, 20);
  // A distance of ten scales is far less rare if tails are heavy.
  EXPECT_LT(fit.score(fit.centre + 10 * fit.scale_above), 0.75 * normal.score(normal.centre + 10 * normal.scale_above));
}

TEST(TailFit, EachSideHasItsOwnScale) {
  std::vector<double> values = normal_values(1000, 5);
  for (double& value : values) value = value > 10 ? 10 + 3 * (value - 10) : value;
  const TailFit fit = fit_tails(values);
  EXPECT_NEAR(fit.scale_above / fit.scale_below, 3, 0.6);
}

TEST(TailFit, AnUnsureValueIsLessFarOff) {
  const TailFit fit = fit_tails(normal_values(500, 6));
  EXPECT_NEAR(fit.distance(20, 0), 5, 0.6);
  EXPECT_LT(fit.distance(20, 4), 2.6);
}

TEST(TailFit, BinsAreNoOutliers) {
  std::vector<double> values(100, 16);
  for (std::size_t i = 0; i < 20; ++i) values[i] = 15;
  EXPECT_GT(fit_tails(values).score(15), -2);
  EXPECT_LT(fit_tails(values).score(8), -4);
}

TEST(TailFit, FewValuesAreJudgedCarefully) {
  std::vector<double> values = {9.9, 10.0, 10.1, 10.0, 9.95, 10.05, 10.02, 9.98};
  const double of_few = fit_tails(values).score(10.5);
  const std::vector<double> once = values;
  for (int i = 0; i < 6; ++i) values.insert(values.end(), once.begin(), once.end());
  EXPECT_LT(of_few, 0.75 * fit_tails(values).score(10.5));
}

TEST(ScoreFit, ExtremesOfManyValuesTellHowRareTheyAre) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::student_t_distribution<double> heavy(4);
  std::vector<double> ordinary(20000);
  std::vector<double> wild(20000);
  for (double& score : ordinary) score = normal(random);
  for (double& score : wild) score = heavy(random);
  const TailParameters parameters{.outer_part = 0.005};
  const ScoreFit of_ordinary = fit_scores(ordinary, parameters);
  const ScoreFit of_wild = fit_scores(wild, parameters);
  EXPECT_LT(of_ordinary.p_value(7), 1e-8);
  EXPECT_GT(of_wild.p_value(7), 1e-4);
  EXPECT_NEAR(of_ordinary.p_value(2), 0.0455, 0.01);
  EXPECT_EQ(of_ordinary.p_value(3), of_ordinary.p_value(-3));
}

TEST(SolveSymmetric, GivesWhatTheMatrixTurnsIntoTheRightSide) {
  SquareMatrix matrix(3);
  matrix.cells = {4, 2, 0, 2, 5, 1, 0, 1, 3};
  const std::vector<double> solution = solve_symmetric(matrix, {8, 15, 11});
  ASSERT_EQ(solution.size(), 3u);
  for (std::size_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += matrix.at(row, i) * solution[i];
    EXPECT_NEAR(sum, (std::vector<double>{8, 15, 11})[row], 1e-12);
  }
}

TEST(SolveSymmetric, NeedsAMatrixThatIsPositiveDefinite) {
  SquareMatrix matrix(2);
  matrix.cells = {1, 2, 2, 1};
  EXPECT_TRUE(solve_symmetric(matrix, {1, 1}).empty());
}

TEST(FindThreshold, IsBenjaminiAndHochbergs) {
  // With 10 tests at 5%: 0.001 <= 0.005, 0.008 <= 0.01, 0.2 > 0.015.
  EXPECT_EQ(benjamini_hochberg_threshold({0.2, 0.008, 0.001}, 10, 0.05), 0.008);
  // A later value accepts the earlier ones: 0.006 > 0.005, but 0.0099 <= 0.01.
  EXPECT_EQ(benjamini_hochberg_threshold({0.006, 0.0099}, 10, 0.05), 0.0099);
  EXPECT_EQ(benjamini_hochberg_threshold({0.2, 0.3}, 10, 0.05), 0);
  EXPECT_EQ(benjamini_hochberg_threshold({}, 0, 0.05), 0);
}

}  // namespace
}  // namespace gputopo::stats
