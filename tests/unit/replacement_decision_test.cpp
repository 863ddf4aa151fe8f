// Which line of a set goes, from shares of victims.
#include "probe/replacement_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

// Of 400 new lines, looked at by age.
VictimShares shares(std::vector<double> of_age, double seen = 400, double tried = 400) {
  VictimShares found{.of_age = std::move(of_age), .seen = seen, .tried = tried};
  double left = 1;
  for (const double share : found.of_age) {
    found.of_reached.push_back(left > 0 ? share / left : 0);
    left -= share;
  }
  return found;
}

std::string decide(const VictimShares& plain, const VictimShares& touched) {
  return std::string(to_string(decide_replacement(plain, touched).value.value()));
}

const VictimShares kOldest = shares({1, 0, 0, 0});
const VictimShares kSecond = shares({0, 1, 0, 0});
const VictimShares kThird = shares({0, 0, 1, 0});
const VictimShares kAny = shares({0.26, 0.24, 0.23, 0.27});

TEST(ReplacementDecision, NamesPoliciesByWhoGoes) {
  EXPECT_EQ(decide(kOldest, kSecond), "lru");
  EXPECT_EQ(decide(kOldest, kOldest), "fifo");
  EXPECT_EQ(decide(kOldest, kThird), "pseudo_lru");
  EXPECT_EQ(decide(kThird, kThird), "pseudo_lru");
  EXPECT_EQ(decide(kAny, kAny), "random");
}

TEST(ReplacementDecision, OneWayLeavesNoChoice) { EXPECT_EQ(decide(shares({1}), shares({1})), "none"); }

TEST(ReplacementDecision, AllExactlyEqualIsRandom) {
  EXPECT_EQ(decide(shares({0.25, 0.25, 0.25, 0.25}), kAny), "random");
  EXPECT_DOUBLE_EQ(evenness(shares({0.25, 0.25, 0.25, 0.25})), 1);
}

// Lines that are looked at first look like victims now and then, because a neighbour evicted them.
TEST(ReplacementDecision, NoiseBeforeTheVictimIsSeenThrough) {
  EXPECT_EQ(decide(shares({0.97, 0.01, 0.01, 0.01}), shares({0.02, 0.95, 0.02, 0.01})), "lru");
  std::vector<double> last_of_sixteen(16, 0.02);
  last_of_sixteen[15] = 0.7;
  EXPECT_EQ(constant_victim(shares(last_of_sixteen)), 15u) << "each of the others hides it a little";
  last_of_sixteen[7] = 0.1;
  last_of_sixteen[15] = 0.62;
  EXPECT_EQ(constant_victim(shares(last_of_sixteen)), std::nullopt) << "one of the others is more than noise";
}

TEST(ReplacementDecision, TwoVictimsAreOther) {
  EXPECT_EQ(decide(shares({0.5, 0.5, 0, 0}), kAny), "other");
  EXPECT_EQ(decide(shares({0.85, 0.15, 0, 0}), kSecond), "other");
}

TEST(ReplacementDecision, OnlyOneOfTheTwoIsConstantIsOther) {
  EXPECT_EQ(decide(kOldest, kAny), "other");
  EXPECT_EQ(decide(kAny, kSecond), "other");
}

// Not most recently used: all but the youngest as likely.
TEST(ReplacementDecision, ARampIsNotRandom) {
  EXPECT_EQ(decide(shares({0.4, 0.3, 0.2, 0.1}), kAny), "other");
  EXPECT_EQ(decide(shares({0.333, 0.333, 0.333, 0}), kAny), "other");
}

TEST(ReplacementDecision, NeedsMostNewLinesToHaveAVictim) {
  EXPECT_FALSE(decide_replacement(shares({1, 0}, 199), kSecond).value);
  EXPECT_FALSE(decide_replacement(kOldest, shares({0, 1}, 199)).value);
  EXPECT_EQ(decide(shares({1, 0}, 201), shares({0, 1}, 201)), "lru");
}

TEST(ReplacementDecision, OneNewLineIsTakenAtItsWord) {
  EXPECT_EQ(decide(shares({1, 0}, 1, 1), shares({0, 1}, 1, 1)), "lru");
}

TEST(ReplacementDecision, NothingTriedTellsNothing) {
  EXPECT_FALSE(decide_replacement({}, {}).value);
  EXPECT_FALSE(decide_replacement(shares({0, 0}, 0, 0), shares({0, 0}, 0, 0)).value);
  EXPECT_EQ(evenness(shares({0, 0}, 0, 0)), 0);
}

TEST(VictimShares, CountWhoWentAndWhoWasReached) {
  const std::vector<std::size_t> ages = {1, 2, 0};  // looked at from the second oldest on
  const std::vector<std::optional<std::size_t>> victims = {1, 2, 2, std::nullopt, 0};
  const VictimShares found = share_victims(ages, victims);
  EXPECT_EQ(found.tried, 5);
  EXPECT_EQ(found.seen, 4);
  EXPECT_DOUBLE_EQ(found.seen_part(), 0.8);
  EXPECT_THAT(found.of_age, testing::ElementsAre(0.25, 0.25, 0.5));
  EXPECT_THAT(found.of_reached, testing::ElementsAre(1, 0.25, testing::DoubleEq(2.0 / 3)));
}

TEST(VictimShares, OfNoVictimsAreNone) {
  const std::vector<std::size_t> ages = {0, 1};
  const VictimShares found = share_victims(ages, std::vector<std::optional<std::size_t>>(3));
  EXPECT_EQ(found.seen_part(), 0);
  EXPECT_THAT(found.of_age, testing::ElementsAre(0, 0));
  EXPECT_THAT(found.of_reached, testing::ElementsAre(0, 0));
  EXPECT_EQ(share_victims({}, {}).seen_part(), 0);
}

}  // namespace
}  // namespace gputopo::probe
