#include "probe/capacity/residency_by_age.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace gputopo::probe {
namespace {

// Samples of an array with this residency at each age. A nearer cache has all lines younger than `nearer`.
ResidencyByAge sampled(double nearer, const std::function<double(double)>& resident_at) {
  constexpr std::size_t kBins = 48;
  constexpr int kSamples = 200000;
  ResidencyByAge by_age(kBins);
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < kSamples; ++i) {
    const double age = uniform(random);
    by_age.add(age, age < nearer, uniform(random) < resident_at(age));
  }
  return by_age;
}

void expect_part(const ResidencyByAge& by_age, double truth) {
  const std::optional<ResidencyByAge::Part> part = by_age.part();
  ASSERT_TRUE(part);
  EXPECT_NEAR(part->value, truth, 0.005 * truth);
  EXPECT_LE(part->interval.low, truth);
  EXPECT_GE(part->interval.high, truth);
}

TEST(ResidencyByAge, RandomReplacementForgetsLittleByLittle) {
  for (const double nearer : {0.0, 0.05, 0.125}) {
    const ResidencyByAge by_age = sampled(nearer, [](double age) { return std::exp(-2 * age); });
    expect_part(by_age, (1 - std::exp(-2)) / 2);
    EXPECT_GT(by_age.old_part(0.43), 0.1) << "what is replaced is not the oldest";
  }
}

TEST(ResidencyByAge, LruForgetsAllAtOnce) {
  const ResidencyByAge by_age = sampled(0.1, [](double age) { return age < 0.4 ? 1.0 : 0.0; });
  expect_part(by_age, 0.4);
  EXPECT_EQ(by_age.old_part(0.4), 0);
}

TEST(ResidencyByAge, TwoWaysAtRandomForgetInSteps) {
  expect_part(sampled(0.125, [](double age) { return std::pow(0.5, std::floor(age / 0.25)); }), 0.25 * 1.875);
}

TEST(ResidencyByAge, SaysWhenTheNearerCacheHidesAll) {
  EXPECT_FALSE(sampled(0.99, [](double) { return 1.0; }).part());
  EXPECT_FALSE(ResidencyByAge(8).part()) << "no samples";
}

TEST(ResidencyByAge, AllOrNothingIsResident) {
  const std::optional<ResidencyByAge::Part> all = sampled(0, [](double) { return 1.0; }).part();
  ASSERT_TRUE(all);
  EXPECT_DOUBLE_EQ(all->value, 1);
  const std::optional<ResidencyByAge::Part> none = sampled(0, [](double) { return 0.0; }).part();
  ASSERT_TRUE(none);
  EXPECT_EQ(none->value, 0);
  EXPECT_EQ(none->interval.low, 0);
}

TEST(ResidencyByAge, BinsAreAsManyAsTheNearerCacheAndTheSamplesAllow) {
  EXPECT_EQ(ResidencyByAge::useful_bins(100'000, 1 << 20, 1 << 17), 33u) << "four of the nearer cache's size";
  EXPECT_EQ(ResidencyByAge::useful_bins(300, 1 << 20, 1 << 17), 11u) << "thirty samples each";
  EXPECT_EQ(ResidencyByAge::useful_bins(0, 1 << 20, 1 << 17), 1u);
}

}  // namespace
}  // namespace gputopo::probe
