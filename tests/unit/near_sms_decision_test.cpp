// From each SM's latencies of the same lines to the SMs near each partition.
#include "probe/partitions/near_sms_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace gputopo::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A row for each SM; each line is near one partition. `noise` is a standard deviation.
SmByLineCycles chip(const std::vector<std::size_t>& partition_of, std::size_t lines, double contrast, double noise) {
  std::size_t partitions = 0;
  for (const std::size_t partition : partition_of) partitions = std::max(partitions, partition + 1);
  std::mt19937_64 random(7);
  std::normal_distribution<double> jitter(0, noise);
  SmByLineCycles cycles;
  for (std::size_t sm = 0; sm < partition_of.size(); ++sm) {
    std::vector<double>& row = cycles.emplace_back();
    for (std::size_t line = 0; line < lines; ++line) {
      const bool near = line % partitions == partition_of[sm];
      // Some SMs are farther from everything, which must not matter.
      row.push_back(270 + 3.0 * static_cast<double>(sm) + (near ? 0 : contrast) + (noise > 0 ? jitter(random) : 0));
    }
  }
  return cycles;
}

TEST(NearSmsDecision, GroupsSmsThatFindTheSameLinesNear) {
  const auto found = decide_near_sms(chip({0, 1, 0, 1, 1, 0}, 48, 100, 0), 2);
  ASSERT_TRUE(found.value) << found.why_not;
  EXPECT_THAT(found.value->groups, ElementsAre(ElementsAre(0, 2, 5), ElementsAre(1, 3, 4)));
  EXPECT_NEAR(found.value->correlation_within, 1, 1e-9);
  EXPECT_LT(found.value->correlation_between, -0.9);
  EXPECT_THAT(found.basis, HasSubstr("1.00 within"));
}

TEST(NearSmsDecision, SeesThroughNoise) {
  const auto found = decide_near_sms(chip({0, 0, 1, 1, 0, 1, 0, 1}, 192, 60, 15), 2);
  ASSERT_TRUE(found.value) << found.why_not;
  EXPECT_THAT(found.value->groups, ElementsAre(ElementsAre(0, 1, 4, 6), ElementsAre(2, 3, 5, 7)));
}

TEST(NearSmsDecision, KnowsMoreThanTwoPartitions) {
  const auto found = decide_near_sms(chip({2, 0, 1, 1, 0, 2}, 96, 80, 4), 3);
  ASSERT_TRUE(found.value) << found.why_not;
  EXPECT_THAT(found.value->groups, ElementsAre(ElementsAre(0, 5), ElementsAre(1, 4), ElementsAre(2, 3)));
}

TEST(NearSmsDecision, SaysNothingWhereAllSmsAreAlike) {
  // Equal to the cycle, and equal except for noise.
  const auto equal = decide_near_sms(chip({0, 1, 0, 1}, 48, 0, 0), 2);
  EXPECT_FALSE(equal.value);
  EXPECT_THAT(equal.why_not, HasSubstr("correlate hardly more within a partition"));
  EXPECT_FALSE(decide_near_sms(chip({0, 1, 0, 1, 0, 1, 0, 1}, 192, 0, 10), 2).value);
}

TEST(NearSmsDecision, SaysNothingWhereThereAreFewerGroupsThanAskedFor) {
  const auto found = decide_near_sms(chip({0, 1, 0, 1, 0, 1, 0, 1}, 192, 60, 5), 3);
  EXPECT_FALSE(found.value) << "one partition, split by noise";
}

TEST(NearSmsDecision, NeedsSmsAndLines) {
  EXPECT_FALSE(decide_near_sms({}, 2).value);
  EXPECT_FALSE(decide_near_sms({{300, 400}}, 2).value);
  EXPECT_FALSE(decide_near_sms({{}, {}, {}, {}}, 2).value);
  EXPECT_FALSE(decide_near_sms(chip({0, 1}, 8, 100, 0), 0).value);
  EXPECT_THAT(decide_near_sms({{300, 400}}, 2).why_not, HasSubstr("1 SMs"));
}

TEST(OddSms, AreThoseFarFromTheMedianOfAll) {
  EXPECT_THAT(outlier_sms(std::vector<double>{270, 272, 271, 268, 330, 269, 273}), ElementsAre(4));
  EXPECT_THAT(outlier_sms(std::vector<double>{270, 272, 271, 200, 269, 273, 268}), ElementsAre(3)) << "too fast";
}

TEST(OddSms, AreNoneInARampOrBetweenTwoModes) {
  EXPECT_THAT(outlier_sms(std::vector<double>{250, 255, 260, 265, 270, 275, 280}), IsEmpty());
  EXPECT_THAT(outlier_sms(std::vector<double>{250, 250, 250, 290, 290, 290}), IsEmpty());
}

// If all others are equal to the cycle, one cycle more does not make an SM odd.
TEST(OddSms, MustDifferByAPartOfTheMedian) {
  EXPECT_THAT(outlier_sms(std::vector<double>{270, 270, 270, 270, 271}), IsEmpty());
  EXPECT_THAT(outlier_sms(std::vector<double>{270, 270, 270, 270, 290}), ElementsAre(4));
  EXPECT_THAT(outlier_sms(std::vector<double>{270}), IsEmpty());
  EXPECT_THAT(outlier_sms({}), IsEmpty());
}

TEST(LinesByNearness, DrawsTheBlocksOfTheMatrix) {
  // Lines 1 and 3 are near the first group, 0 and 2 near the second; line 3 is farthest from the other group.
  const SmByLineCycles cycles = {{400, 300, 390, 300}, {400, 300, 390, 300}, {300, 380, 300, 400}};
  EXPECT_THAT(lines_by_nearness(cycles, {{0, 1}, {2}}), ElementsAre(3, 1, 0, 2));
  EXPECT_THAT(lines_by_nearness({}, {}), IsEmpty());
}

}  // namespace
}  // namespace gputopo::probe
