// The residency of a whole array, inferred from the hits of a random sample.
#include "probe/capacity/sampled_residency_decision.h"

#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

// Three times the cache, which holds 1000 of its lines.
constexpr SampledArray kArray{.elements = 3000, .bytes = 3000 * 128};

TEST(SamplingPlan, ATenthOfTheCacheInAsManyProgramsAsAreWanted) {
  const SamplingPlan plan = plan_sampling(kArray, 1000, 270'000, 5);
  EXPECT_EQ(plan.per_program, 100u);
  EXPECT_EQ(plan.programs, 2700u);
}

TEST(SamplingPlan, CachesOfAFewLinesAreSampledToo) {
  EXPECT_EQ(plan_sampling({.elements = 3, .bytes = 384}, 1, 1000, 5).per_program, 1u);
  EXPECT_EQ(plan_sampling({.elements = 24, .bytes = 3072}, 8, 1000, 5).per_program, 2u);
  EXPECT_EQ(plan_sampling({.elements = 90, .bytes = 11520}, 30, 1000, 5).per_program, 4u);
}

TEST(SamplingPlan, LinesOfSeveralElementsCountOnce) {
  SampledArray array = kArray;
  array.of_line = 4;
  EXPECT_EQ(plan_sampling(array, 1000, 270'000, 5).per_program, 25u);
}

TEST(SamplingPlan, ProgramsThatTakeTurnsAreBounded) {
  SampledArray shared{.elements = 1'000'000, .bytes = 128e6, .is_shared = true};
  EXPECT_EQ(plan_sampling(shared, 400'000, 270'000, 5).per_program, 32'768u);
  EXPECT_EQ(plan_sampling(shared, 400'000, 270'000, 5).programs, 8u);
  EXPECT_EQ(plan_sampling(shared, 400'000, 27'000'000, 5).programs, 15u) << "touches";
  shared.is_behind = true;
  EXPECT_EQ(plan_sampling(shared, 400'000, 27'000'000, 5).programs, 60u);
  EXPECT_EQ(plan_sampling(kArray, 1000, 1, 5).programs, 5u) << "at least the copies";
  EXPECT_EQ(plan_sampling(kArray, 1000, 10'000'000, 5).programs, 12'000u);
}

TEST(SampledResidency, OneSampleEachDisturbsNothing) {
  EXPECT_DOUBLE_EQ(mean_part_left(0.5, 1, kArray), 1);
  const std::vector<std::uint64_t> hits(1000, 1);
  const SampledResidency all = residency_of_hits(hits, 1, kArray, 0);
  EXPECT_DOUBLE_EQ(all.bytes, kArray.bytes);
  EXPECT_DOUBLE_EQ(all.interval.high, kArray.bytes);
  EXPECT_LT(all.interval.low, kArray.bytes);
}

TEST(SampledResidency, LaterSamplesHitLessBecauseMissesEvict) {
  const double left = mean_part_left(1.0 / 3, 100, kArray);
  EXPECT_LT(left, 1);
  EXPECT_GT(left, 0.9);
  EXPECT_EQ(mean_part_left(1.0 / 3, 100'000, {.elements = 100'000, .bytes = 1}), 0.5) << "no more than that is made up";
  EXPECT_EQ(mean_part_left(0, 10, kArray), mean_part_left(1.0 / 3000, 10, kArray)) << "at least one element";
}

TEST(SampledResidency, IsTheCacheWithinItsInterval) {
  // A third of what the earlier of the 100 samples left resident hits.
  const double left = mean_part_left(1.0 / 3, 100, kArray);
  std::vector<std::uint64_t> hits;
  for (std::uint64_t i = 0; i < 2700; ++i) hits.push_back(static_cast<std::uint64_t>(100 * left / 3) + i % 2);
  const SampledResidency found = residency_of_hits(hits, 100, kArray, 0);
  EXPECT_NEAR(found.bytes, 1000 * 128, 0.02 * 128'000);
  EXPECT_LT(found.interval.low, found.bytes);
  EXPECT_GT(found.interval.high, found.bytes);
  EXPECT_DOUBLE_EQ(residency_of_hits(hits, 100, kArray, 0.01).bytes, found.bytes / 0.99)
      << "hits that look like misses";
}

TEST(SampledResidency, LoadsTakenForAnotherLevelsWidenTheInterval) {
  const std::vector<std::uint64_t> hits(2700, 33);
  SampledArray close = kArray;
  close.misjudged = 0.01;
  const SampledResidency found = residency_of_hits(hits, 100, close, 0);
  const SampledResidency clear = residency_of_hits(hits, 100, kArray, 0);
  EXPECT_DOUBLE_EQ(found.bytes, clear.bytes);
  const SampledResidencyParameters parameters;
  const double at_most = parameters.misjudged_at_most * close.misjudged;
  // Two misses for each hit.
  EXPECT_NEAR(clear.interval.low - found.interval.low, 2 * at_most * found.bytes, 0.004 * found.bytes);
  EXPECT_NEAR(found.interval.high - clear.interval.high, at_most * found.bytes, 0.002 * found.bytes);
}

TEST(SampledResidency, HitsThatMayAllBeMissesTellNoLeastSize) {
  const std::vector<std::uint64_t> hits(2700, 4);
  SampledArray close = kArray;
  close.misjudged = 0.04;
  EXPECT_EQ(residency_of_hits(hits, 100, close, 0).interval.low, 0);
}

TEST(SampledResidency, ProgramsThatANeighbourDisturbedDoNotCount) {
  const std::vector<std::uint64_t> quiet(99, 40);
  std::vector<std::uint64_t> disturbed = quiet;
  disturbed.push_back(2);
  EXPECT_GT(least_undisturbed(disturbed), 2);
  EXPECT_DOUBLE_EQ(residency_of_hits(disturbed, 100, kArray, 0).bytes, residency_of_hits(quiet, 100, kArray, 0).bytes);
  EXPECT_LT(least_undisturbed(std::vector<std::uint64_t>{0, 0, 0}), 0) << "nothing hits: nothing is left out";
}

TEST(SampledResidency, ByAgeBehindAnotherCache) {
  ResidencyByAge by_age(10);
  for (int i = 0; i < 10'000; ++i) by_age.add((i + 0.5) / 10'000, false, i < 4000);
  const std::optional<SampledResidency> found = residency_of_ages(by_age, 1, {.elements = 1000, .bytes = 64'000}, 0);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->bytes, 0.4 * 64'000, 1);
  EXPECT_EQ(found->old_part, 0);

  ResidencyByAge hidden(10);
  for (int i = 0; i < 1000; ++i) hidden.add((i + 0.5) / 1000, true, false);
  EXPECT_FALSE(residency_of_ages(hidden, 1, kArray, 0));
}

}  // namespace
}  // namespace gputopo::probe
