// Values of one part judged together, on drawn scores.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "fleet/together.h"

namespace gputopo::fleet {
namespace {

constexpr std::uint32_t bit(Aspect aspect) { return 1U << static_cast<unsigned>(aspect); }

// Three values of memory, the first two nearly equal, and four of the SMs. All share a common factor of the chip.
SignedScores drawn_scores(std::size_t gpus, double common) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  SignedScores scores{.gpus = gpus, .columns = {}};
  for (std::size_t i = 0; i < 7; ++i) {
    const Aspect aspect = i < 3 ? Aspect::kMemory : Aspect::kArithmetic;
    scores.columns.push_back({{.better = Better::kLower, .aspects = bit(aspect)}, std::vector<double>(gpus)});
  }
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const double chip = common * normal(random);
    const double shared = normal(random);
    for (std::size_t i = 0; i < 7; ++i) {
      const double own = i < 2 ? shared + 0.1 * normal(random) : normal(random);
      scores.columns[i].of_gpu[gpu] = (chip + own) / std::hypot(common, 1);
    }
  }
  return scores;
}

// Score of one GPU whose memory values are each worse by three deviations, in deviations of the other GPUs.
double distance_of(SignedScores scores) {
  constexpr std::size_t kFaulty = 7;
  for (std::size_t i = 0; i < 3; ++i) scores.columns[i].of_gpu[kFaulty] = 3;
  for (std::size_t i = 3; i < 7; ++i) scores.columns[i].of_gpu[kFaulty] = 0;
  const std::vector<JointScore> whole = score_jointly(scores, Aspect::kMemory, {});
  double squares = 0;
  double faulty = 0;
  for (const JointScore& score : whole) {
    if (score.gpu == kFaulty) {
      faulty = score.score;
    } else {
      squares += score.score * score.score;
    }
  }
  return faulty / std::sqrt(squares / static_cast<double>(whole.size() - 1));
}

TEST(JudgeTogether, ValuesThatAreTheSameCountOnce) {
  // The best weights give 3 * sqrt(2) = 4.2; the plain mean, in which one value makes up two thirds, gives 4.0.
  EXPECT_GT(distance_of(drawn_scores(2000, 0)), 4.1);
}

TEST(JudgeTogether, WhatTheRestOfTheChipHasTooIsTakenOff) {
  const SignedScores scores = drawn_scores(2000, 1);
  SignedScores without_rest = scores;
  for (std::size_t i = 3; i < 7; ++i) without_rest.columns[i].of_gpu.assign(2000, 0);
  EXPECT_GT(distance_of(scores), 1.15 * distance_of(without_rest));
}

TEST(JudgeTogether, WhoLacksMostOfThemIsNotJudged) {
  SignedScores scores = drawn_scores(100, 0);
  for (std::size_t i = 0; i < 2; ++i) scores.columns[i].of_gpu[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(score_jointly(scores, Aspect::kMemory, {}).size(), 99u);
}

TEST(JudgeTogether, FewValuesAreNoPart) {
  SignedScores scores = drawn_scores(100, 0);
  scores.columns.erase(scores.columns.begin());
  EXPECT_TRUE(score_jointly(scores, Aspect::kMemory, {}).empty());
  EXPECT_TRUE(score_jointly(scores, Aspect::kL2, {}).empty());
}

}  // namespace
}  // namespace gputopo::fleet
