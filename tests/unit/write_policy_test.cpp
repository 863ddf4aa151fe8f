// What hits after stores say of a cache, and what they leave open.
#include "probe/write_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/machine.h"
#include "gputopo/device.h"

namespace gputopo::probe {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double kNearlyAll = 0.8;

TEST(WriteAllocate, FollowsFromWhereTheStoredLinesAre) {
  const StoreTreatment passes = judge({.unstored = 0, .stored = 0.05, .stored_again = 1}, kNearlyAll);
  EXPECT_FALSE(passes.allocates);
  EXPECT_EQ(passes.keeps_hits, true);
  const StoreTreatment keeps = judge({.unstored = 0.1, .stored = 0.9, .stored_again = 0.1}, kNearlyAll);
  EXPECT_TRUE(keeps.allocates);
  EXPECT_EQ(keeps.keeps_hits, false);
}

TEST(WriteAllocate, SaysNothingOfHalves) {
  EXPECT_EQ(judge({.unstored = 0, .stored = 1, .stored_again = 0.5}, kNearlyAll).keeps_hits, std::nullopt);
  EXPECT_THAT([] { static_cast<void>(judge({.unstored = 0, .stored = 0.5, .stored_again = 1}, kNearlyAll)); },
              ThrowsMessage<Inconclusive>(HasSubstr("50% of the lines that were stored")));
  EXPECT_THAT([] { static_cast<void>(judge({.unstored = 0.4, .stored = 1, .stored_again = 1}, kNearlyAll)); },
              ThrowsMessage<Inconclusive>(HasSubstr("40% of the lines that were never stored")));
}

TEST(WritePolicy, FollowsFromWhatReachesL2) {
  EXPECT_TRUE(passes_stores_on({.in_l1 = 1, .unstored = 0, .stored_in_l2 = 0.95}, kNearlyAll));
  EXPECT_FALSE(passes_stores_on({.in_l1 = 0.9, .unstored = 0.1, .stored_in_l2 = 0.1}, kNearlyAll));
}

TEST(WritePolicy, NeedsLinesThatOnlyL1Holds) {
  EXPECT_THAT([] { static_cast<void>(passes_stores_on({.in_l1 = 0.3, .stored_in_l2 = 1}, kNearlyAll)); },
              ThrowsMessage<Inconclusive>(HasSubstr("30% of the lines are left in L1")));
  EXPECT_THAT([] { static_cast<void>(passes_stores_on({.in_l1 = 1, .unstored = 1, .stored_in_l2 = 1}, kNearlyAll)); },
              ThrowsMessage<Inconclusive>(HasSubstr("100% of the lines that were not stored")));
  EXPECT_THAT([] { static_cast<void>(passes_stores_on({.in_l1 = 1, .stored_in_l2 = 0.5}, kNearlyAll)); },
              ThrowsMessage<Inconclusive>(HasSubstr("neither all nor none")));
}

TEST(WritePolicy, OfL2IsProvenByBandwidthThatMemoryDoesNotHave) {
  const auto device = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("h200")), 1);
  const DiscoverOptions options;
  const Lab lab(*device, options);
  const Attribute attribute = write_policy_by_bandwidth(lab, 3e12, 2e12);
  EXPECT_EQ(attribute.value, Value(std::string("write_back")));
  EXPECT_EQ(*attribute.find_detail("times_memory_bandwidth"), Value(1.5));
  EXPECT_THAT([&] { static_cast<void>(write_policy_by_bandwidth(lab, 2.2e12, 2e12)); },
              ThrowsMessage<NotSupportedError>(HasSubstr("1.10 times")));
}

}  // namespace
}  // namespace gputopo::probe
