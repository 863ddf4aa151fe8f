// From the survivors of an eviction to the sharers of a cache, and to the number of its instances.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "probe/bench/sharing_groups.h"
#include "probe/sharing/survival_decision.h"

namespace gputopo::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SharingDecision, IsOnTheSideOfTheEviction) {
  EXPECT_EQ(decide_sharing({.untouched = 1, .evicted = 0}, 0.1).value, true);
  EXPECT_EQ(decide_sharing({.untouched = 1, .evicted = 0}, 0.9).value, false);
  EXPECT_EQ(decide_sharing({.untouched = 1, .evicted = 0}, 0.5).value, false) << "half way is no eviction";
  // Random replacement leaves some of it.
  EXPECT_EQ(decide_sharing({.untouched = 0.9, .evicted = 0.6}, 0.7).value, true);
  EXPECT_EQ(decide_sharing({.untouched = 0.9, .evicted = 0.6}, 0.8).value, false);
  EXPECT_THAT(decide_sharing({.untouched = 1, .evicted = 0}, 0.1).basis,
              HasSubstr("a fraction of 0.100 of the lines survives (1.000 without an evictor"));
}

TEST(SharingDecision, NeedsAnEvictionThatShows) {
  for (const KnownSurvival& known : {KnownSurvival{1, 0.95}, {0.5, 0.5}, {0, 0}, {0.2, 0.9}}) {
    const auto decision = decide_sharing(known, 0.1);
    EXPECT_FALSE(decision.value);
    EXPECT_THAT(decision.why_not, HasSubstr("evicts hardly anything"));
  }
  EXPECT_TRUE(survival_limit({1, 0.95}, {.least_contrast = 0.04}).value);
}

std::vector<double> survived(std::size_t warps, std::size_t instances) {
  std::vector<double> parts;
  for (std::size_t warp = 0; warp < warps; ++warp) parts.push_back(warp % instances == 0 ? 0.05 : 0.98);
  return parts;
}

TEST(AmountDecision, IsThePartOfTheWarpsThatEvict) {
  for (const std::size_t instances : {1u, 2u, 4u}) {
    const auto found = decide_amount(1, survived(32, instances));
    ASSERT_TRUE(found.value) << found.why_not;
    EXPECT_EQ(found.value->amount, static_cast<std::int64_t>(instances));
    EXPECT_EQ(found.value->warps_sharing, static_cast<std::int64_t>(32 / instances));
  }
}

TEST(AmountDecision, ForgivesAWarpThatNoisePutOnTheWrongSide) {
  std::vector<double> parts = survived(32, 2);
  parts[4] = 0.9;
  EXPECT_EQ(decide_amount(1, parts).value->amount, 2);
  EXPECT_EQ(decide_amount(1, parts).value->warps_sharing, 15);
}

TEST(AmountDecision, SaysNothingOfUnevenParts) {
  std::vector<double> parts = survived(32, 1);
  for (std::size_t warp = 20; warp < 32; ++warp) parts[warp] = 1;
  const auto found = decide_amount(1, parts);  // 32 / 20
  EXPECT_FALSE(found.value);
  EXPECT_THAT(found.why_not, HasSubstr("20 of 32 warps"));
}

// A ramp from all evicted to nothing evicted does not separate two kinds of warps.
TEST(AmountDecision, OfARamp) {
  std::vector<double> parts;
  for (int warp = 0; warp < 32; ++warp) parts.push_back(warp / 31.0);
  const auto found = decide_amount(1, parts);
  ASSERT_TRUE(found.value);
  EXPECT_EQ(found.value->warps_sharing, 16);
}

TEST(AmountDecision, OfOneWarpAndOfNone) {
  const std::vector<double> one = {0.1};
  EXPECT_EQ(decide_amount(1, one).value->amount, 1);
  EXPECT_FALSE(decide_amount(1, {}).value);
  const std::vector<double> all_survive(32, 1);
  EXPECT_THAT(decide_amount(1, all_survive).why_not, HasSubstr("evicts hardly anything"));
}

TEST(SharingSms, AreThoseThatEvictHalfOrMore) {
  const std::vector<EvictedPart> others = {{0, 0.02}, {1, 0.97}, {3, 0.5}, {4, 0.49}};
  const SharingSms found = sms_that_share(2, others);
  EXPECT_THAT(found.sms, ElementsAre(1, 2, 3));
  EXPECT_FALSE(found.all_tried);
  EXPECT_TRUE(sms_that_share(2, std::vector<EvictedPart>{{0, 1}, {1, 0.8}}).all_tried);
  EXPECT_THAT(sms_that_share(2, {}).sms, ElementsAre(2));
}

TEST(SharingSms, AreClearFromOneMeasurementOrFromTwo) {
  const std::vector<EvictedPart> none = {{1, 0.1}, {2, -0.05}};
  const std::vector<EvictedPart> all = {{1, 0.9}, {2, 1.1}};
  const std::vector<EvictedPart> some = {{1, 0.9}, {2, 0}};
  const std::vector<EvictedPart> unclear = {{1, 0.9}, {2, 0.4}};
  EXPECT_TRUE(all_on_one_side(none));
  EXPECT_TRUE(all_on_one_side(all));
  EXPECT_FALSE(all_on_one_side(some)) << "one of them may be noise";
  EXPECT_FALSE(all_on_one_side(unclear));
  EXPECT_TRUE(agree_clearly(some, some));
  EXPECT_FALSE(agree_clearly(some, all));
  EXPECT_FALSE(agree_clearly(unclear, unclear));
}

}  // namespace
}  // namespace gputopo::probe
