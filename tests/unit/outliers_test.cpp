// Timings of the same thing, some of them disturbed.
#include "stats/outliers.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace gputopo::stats {
namespace {

// Around 1,000 cycles; the fraction `part` has an additional exponential delay of `delay` cycles on average.
std::vector<double> timings(std::size_t count, double deviation, double part, double delay) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(1000, deviation);
  std::exponential_distribution<double> later(1 / delay);
  std::bernoulli_distribution disturbed(part);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(std::round(normal(random) + (disturbed(random) ? later(random) : 0)));
  }
  return values;
}

TEST(UndisturbedMean, OfOneValueAndOfEqualOnes) {
  EXPECT_DOUBLE_EQ(undisturbed_mean(std::vector<double>{512}), 512);
  EXPECT_DOUBLE_EQ(undisturbed_mean(std::vector<double>(65, 512)), 512);
}

TEST(UndisturbedMean, IsTheMeanWhereNothingIsDisturbed) {
  EXPECT_NEAR(undisturbed_mean(timings(200, 20, 0, 1)), 1000, 4);
}

TEST(UndisturbedMean, IsNotMovedByDelays) {
  for (const double delay : {100.0, 300.0, 500.0}) {
    EXPECT_NEAR(undisturbed_mean(timings(200, 20, 0.3, delay)), 1000, 6) << delay;
    EXPECT_NEAR(undisturbed_mean(timings(200, 5, 0.5, delay)), 1000, 3) << delay;
  }
}

TEST(UndisturbedMean, OfFewValuesIsAmongThem) {
  const double found = undisturbed_mean(std::vector<double>{100, 101, 103, 900, 1400});
  EXPECT_GE(found, 100);
  EXPECT_LE(found, 103);
}

TEST(DisturbedFrom, IsBeyondAllThatIsOrdinary) {
  Histogram loads(512);
  for (std::size_t bin = 100; bin < 120; ++bin) loads[bin] = 50;
  loads[400] = 10;
  EXPECT_GT(disturbed_from(loads), 240);
  EXPECT_LT(disturbed_from(loads), 300);
}

}  // namespace
}  // namespace gputopo::stats
