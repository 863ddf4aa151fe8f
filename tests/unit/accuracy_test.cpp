// The gates of the truth tests: they fail if a value gets worse, and if a value known to be wrong gets better.
#include "support/accuracy.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>

namespace gputopo::truth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kTest = "WidePrior.X";

const std::vector<KnownValue>& listed() {
  static const std::vector<KnownValue> values = {{kTest, 3, "l1.size", "wrong", "a hash"},
                                                 {kTest, 4, "l2.size", "silent", "too noisy"},
                                                 {"Other.X", 3, "l2.size", "silent", "another test"}};
  return values;
}

Finding finding_of(const KnownValue& value) { return {value.seed, value.path, value.kind, "text"}; }

TEST(Accuracy, WhatIsListedPasses) {
  EXPECT_THAT(differences(listed(), kTest, 1, 9, {finding_of(listed()[0]), finding_of(listed()[1])}), IsEmpty());
}

TEST(Accuracy, AnyOtherFindingFails) {
  const std::vector<Finding> both = {finding_of(listed()[0]), finding_of(listed()[1])};
  for (const Finding& other : {Finding{5, "l1.size", "wrong", "t"}, Finding{3, "l2.size", "wrong", "t"},
                               Finding{3, "l1.size", "silent", "t"}, Finding{4, "l2.size", "outside", "t"}}) {
    std::vector<Finding> found = both;
    found.push_back(other);
    EXPECT_THAT(differences(listed(), kTest, 1, 9, found), ElementsAre(HasSubstr(other.kind))) << other.path;
  }
}

TEST(Accuracy, AListedValueThatHasBecomeRightFails) {
  EXPECT_THAT(differences(listed(), kTest, 1, 9, {finding_of(listed()[0])}), ElementsAre(HasSubstr("l2.size")));
}

TEST(Accuracy, SeedsThatWereNotDrawnAreLeftOut) {
  EXPECT_THAT(differences(listed(), kTest, 1, 3, {finding_of(listed()[0])}), IsEmpty());
  EXPECT_THAT(differences(listed(), kTest, 10, 20, {{9, "l1.size", "wrong", ""}}), IsEmpty());
}

TEST(Accuracy, TheListSurvivesWritingAndReading) {
  EXPECT_EQ(parse_known_values(known_values_text(listed())).size(), listed().size());
  for (const KnownValue& value : listed()) {
    EXPECT_THAT(parse_known_values(known_values_text(listed())), ::testing::Contains(value));
  }
}

TEST(Accuracy, ALineWithoutAReasonIsRefused) {
  for (const char* line : {"WidePrior.X | 3 | l1.size | wrong |", "WidePrior.X | 3 | l1.size | wrong",
                           "WidePrior.X | x | l1.size | wrong | a hash", "nonsense"}) {
    EXPECT_THROW((void)parse_known_values(line), std::runtime_error) << line;
  }
}

TEST(Accuracy, EveryVerdictThatIsNotRightIsAFinding) {
  const auto kind = [](Verdict verdict, bool flagged) {
    return finding_kind({.verdict = verdict, .is_flagged = flagged});
  };
  EXPECT_EQ(kind(Verdict::kConfidentlyWrong, false), "wrong");
  EXPECT_EQ(kind(Verdict::kFlagged, true), "flagged");
  EXPECT_EQ(kind(Verdict::kSilent, false), "silent");
  EXPECT_EQ(kind(Verdict::kClose, false), "outside");
  EXPECT_EQ(kind(Verdict::kRight, true), "alarm");
  EXPECT_EQ(kind(Verdict::kRight, false), "");
  EXPECT_EQ(kind(Verdict::kRightlySilent, false), "");
}

std::vector<Share> machines_of(std::size_t count, double part, double whole) {
  return std::vector<Share>(count, {part, whole});
}

// 99.9% quantiles of binomial distributions (R: qbinom(0.999, 1000, 0.01) = 21, qbinom(0.999, 100, 0.01) = 5).
TEST(Accuracy, TheLimitIsTheQuantileOfABinomialDistribution) {
  EXPECT_NEAR(binomial_limit(machines_of(10, 1, 100), 0.01), 0.021, 1e-9);
  EXPECT_NEAR(binomial_limit(machines_of(10, 0, 10), 0.01), 0.05, 1e-9);
}

TEST(Accuracy, ValuesThatGoWrongTogetherWidenTheLimit) {
  std::vector<Share> clustered = machines_of(10, 0, 100);
  clustered[0].part = 10;
  EXPECT_GT(binomial_limit(clustered, 0.01), 1.5 * binomial_limit(machines_of(10, 1, 100), 0.01));
}

TEST(Accuracy, AShareBeyondChanceFails) {
  expect_share("at the goal", machines_of(20, 1, 100), 0.01);
  EXPECT_NONFATAL_FAILURE(expect_share("far above it", machines_of(20, 4, 100), 0.01), "goal 1.00%");
}

TEST(Accuracy, NothingJudgedFails) {
  EXPECT_FATAL_FAILURE(expect_share("nothing", machines_of(20, 0, 0), 0.01), "no value was judged");
  EXPECT_FATAL_FAILURE(expect_share("no machine", {}, 0.01), "no value was judged");
}

}  // namespace
}  // namespace gputopo::truth
