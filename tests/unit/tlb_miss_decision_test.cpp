#include <gtest/gtest.h>

#include <cmath>

#include "probe/tlb/miss_decision.h"
#include "support/paired_loads.h"

namespace gputopo::probe {
namespace {

using truth::noisy_paired_loads;
using truth::paired_loads;

constexpr TlbRise kTwentyCycles{.before_cycles = 0, .rise_cycles = 20};

TEST(TlbMisses, AreCountedByTheMiddleOfTheRise) {
  const MissSignature signature = signature_of(kTwentyCycles, paired_loads({{1000, 0}}));
  EXPECT_FALSE(is_noisy(signature));
  EXPECT_NEAR(missed_part(paired_loads({{700, 0}, {300, 20}}), signature), 0.3, 1e-9);
  EXPECT_NEAR(missed_part(paired_loads({{1000, 20}}), signature), 1, 1e-9);
  EXPECT_NEAR(missed_part(paired_loads({{1000, 0}}), signature), 0, 1e-9);
  EXPECT_NEAR(missed_part({}, signature), 0, 1e-9) << "no loads";
}

TEST(TlbMisses, AreNotWhatMissesTheCacheBehind) {
  const MissSignature signature = signature_of(kTwentyCycles, paired_loads({{1000, 0}}));
  EXPECT_NEAR(missed_part(paired_loads({{600, 0}, {100, 20}, {300, 200}}), signature), 0.1, 1e-9);
}

TEST(TlbMisses, OfALevelBehindAnotherStandOnItsMisses) {
  const MissSignature signature = signature_of({.before_cycles = 10, .rise_cycles = 90}, paired_loads({{1000, 0}}));
  EXPECT_NEAR(signature.before_cycles, 10, 1);
  EXPECT_NEAR(missed_part(paired_loads({{500, 10}, {500, 100}}), signature), 0.5, 1e-9);
}

TEST(TlbMisses, AreTakenOutOfNoise) {
  constexpr double kNoise = 5;
  const stats::Histogram quiet = noisy_paired_loads(0, 10, kNoise);
  MissSignature signature = signature_of({.before_cycles = 8, .rise_cycles = 10}, quiet);
  signature = with_hits(signature, quiet);
  EXPECT_TRUE(is_noisy(signature));
  EXPECT_NEAR(signature.false_part, 0.16, 0.03) << "beyond one deviation";
  EXPECT_NEAR(missed_part(noisy_paired_loads(0, 10, kNoise, 2), signature), 0, 0.02);
  for (const double part : {0.2, 0.5, 1.0}) {
    EXPECT_NEAR(missed_part(noisy_paired_loads(part, 10, kNoise, 3), signature), part, 0.03);
  }
}

TEST(TlbMisses, WhereNoiseHidesAllOfThemAreNotBlownUp) {
  constexpr double kNoise = 60;
  const stats::Histogram quiet = noisy_paired_loads(0, 4, kNoise);
  const MissSignature signature = with_hits(signature_of({.rise_cycles = 4}, quiet), quiet);
  EXPECT_LT(std::abs(missed_part(noisy_paired_loads(1, 4, kNoise, 2), signature)), 0.3);
}

TEST(TlbMisses, DifferFromLinesToLinesByMoreThanChance) {
  const MissSignature signature{.rise_cycles = 10, .false_part = 0.2, .seen_part = 0.8};
  const MissSignature uneven = with_line_error(signature, {0.1, 0.3, 0.1, 0.3, 0.2, 0.2}, 16, 512);
  EXPECT_GT(uneven.line_error, 0.1);
  EXPECT_LT(uneven.line_error, 0.2);
  EXPECT_DOUBLE_EQ(line_error(uneven, 16), uneven.line_error);
  EXPECT_DOUBLE_EQ(line_error(uneven, 64), uneven.line_error / 2);
  EXPECT_DOUBLE_EQ(undetectable_part(uneven, 16), 3 * uneven.line_error);
  EXPECT_EQ(with_line_error(signature, {0.20, 0.21, 0.19, 0.2}, 16, 512).line_error, 0) << "as much as chance makes";
  EXPECT_EQ(with_line_error(signature, {0.2}, 16, 512).line_error, 0) << "of one walk nothing is known";
  EXPECT_EQ(with_line_error(signature, {}, 16, 512).line_error, 0);
}

TEST(TlbMisses, WhereNoiseHidesAllTheErrorIsLarge) {
  const MissSignature hidden{.rise_cycles = 4, .false_part = 0.5, .seen_part = 0.5};
  const MissSignature found = with_line_error(hidden, {0.3, 0.7, 0.4, 0.6}, 16, 512);
  EXPECT_TRUE(std::isfinite(found.line_error));
  EXPECT_GT(found.line_error, 1);
}

TEST(TlbMisses, AreSharpenedByPagesThatAllMiss) {
  const MissSignature swept = signature_of(kTwentyCycles, paired_loads({{1000, 0}}));
  const MissSignature found = sharpened(swept, paired_loads({{1000, 2}}), paired_loads({{1000, 24}}));
  EXPECT_NEAR(found.before_cycles, 2.5, 1e-9);
  EXPECT_NEAR(found.rise_cycles, 22, 1e-9);
  EXPECT_DOUBLE_EQ(found.seen_part, 1);
}

TEST(TlbMisses, AreAsSweptWhereNotAllPagesMiss) {
  const MissSignature swept = signature_of(kTwentyCycles, paired_loads({{1000, 0}}));
  const auto unchanged = [&](const std::optional<stats::Histogram>& misses) {
    const MissSignature found = sharpened(swept, paired_loads({{990, 0}, {10, 20}}), misses);
    EXPECT_EQ(found.rise_cycles, swept.rise_cycles);
    EXPECT_EQ(found.before_cycles, swept.before_cycles);
    EXPECT_NEAR(found.false_part, 0.01, 1e-9) << "what hits shows the noise all the same";
    EXPECT_EQ(found.rise_error, misses ? TlbMissParameters{}.unborne_error : TlbMissParameters{}.unseen_error);
  };
  unchanged(paired_loads({{500, 0}, {500, 20}}));  // the oldest entry is not the victim
  unchanged(paired_loads({{1000, 40}}));           // they also miss another level
  unchanged(std::nullopt);                         // no room for that many
}

TEST(TlbMisses, OfFewPagesAreMoreThanOne) {
  EXPECT_EQ(least_missed_pages({.rise_cycles = 20}, 100, 24), 1);
  const MissSignature noisy{.rise_cycles = 10, .false_part = 0.2, .line_error = 0.07, .line_error_lines = 16};
  EXPECT_NEAR(least_missed_pages(noisy, 16, 1024), 3 * 16 * 0.07, 0.1);
  EXPECT_GT(least_missed_pages(noisy, 64, 1024), least_missed_pages(noisy, 16, 1024));
}

constexpr MissSignature kQuietStep{.rise_cycles = 90};
constexpr MissSignature kNoisyStep{.rise_cycles = 10, .false_part = 0.2};

TEST(TlbSteps, AreLevelsUnlessTheCacheMisses) {
  EXPECT_EQ(classify_step({}, kQuietStep), StepCause::kLevel);
  EXPECT_EQ(classify_step({.pages = 0.9, .companions = 0.02}, kQuietStep), StepCause::kLevel);
  EXPECT_EQ(classify_step({.pages = 0.9, .companions = 0.6}, kQuietStep), StepCause::kCacheMisses);
  EXPECT_EQ(classify_step({.pages = 0.05, .companions = 0.05}, kQuietStep), StepCause::kTransient);
}

TEST(TlbSteps, SecondLoadsThatAreSlowerMissTheCache) {
  const SlowBeyond slow{.pages = 0.41, .pages_wait_cycles = 84.5, .companions_wait_cycles = -124};
  EXPECT_EQ(classify_step(slow, {.rise_cycles = 50}), StepCause::kCacheMisses);
}

TEST(TlbSteps, NoiseIsNoMissOfTheCache) {
  EXPECT_EQ(classify_step({.pages = 0.9, .companions = 0.4, .pages_wait_cycles = 9}, kNoisyStep), StepCause::kLevel);
  EXPECT_EQ(classify_step({.pages = 0.4, .companions = 0.1, .pages_wait_cycles = 1}, kNoisyStep),
            StepCause::kTransient);
}

// An H200's first TLB: a miss costs 10 cycles, while L2 slices differ by 200 cycles.
TEST(TlbSteps, OfCheapMissesAreToldByMeans) {
  const SlowBeyond cheap{.pages = 0.62, .companions = 0.26, .pages_wait_cycles = 6.2, .companions_wait_cycles = -0.7};
  EXPECT_EQ(classify_step(cheap, {.rise_cycles = 8.5, .false_part = 0.07}), StepCause::kLevel);
  EXPECT_EQ(classify_step(cheap, {.rise_cycles = 6.8, .false_part = 0.27}), StepCause::kLevel)
      << "also where the sweep makes the step look lower than it is";
  EXPECT_EQ(classify_step(cheap, {.rise_cycles = 8.5}), StepCause::kCacheMisses) << "nothing else makes them slow";
  const SlowBeyond missed{.pages = 0.62, .companions = 0.4, .pages_wait_cycles = 62, .companions_wait_cycles = 40};
  EXPECT_EQ(classify_step(missed, {.rise_cycles = 8.5, .false_part = 0.07}), StepCause::kCacheMisses);
}

}  // namespace
}  // namespace gputopo::probe
