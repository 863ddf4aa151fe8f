#include "device/launch/sm_clock.h"

#include <gtest/gtest.h>

namespace gputopo::launch {
namespace {

constexpr std::uint64_t kMillisecondOfClock = 1'000'000;  // in nanoseconds

TEST(SmClock, IsCyclesByTimeWhereABlockRanLongEnough) {
  EXPECT_EQ(SmClock::mhz_of(1'980'000, kMillisecondOfClock), 1980);
  EXPECT_EQ(SmClock::mhz_of(396'000, 200'000), 1980);
  EXPECT_EQ(SmClock::mhz_of(396'000, 199'999), std::nullopt);
  EXPECT_EQ(SmClock::mhz_of(0, 0), std::nullopt);
  EXPECT_EQ(SmClock::mhz_of(1000ull - 2000, kMillisecondOfClock), std::nullopt) << "a counter that went back";
}

TEST(SmClock, IsTheLastOneKnownWhereItCannotBeTold) {
  SmClock clock;
  EXPECT_EQ(clock.note(1000, 500), 0);
  EXPECT_EQ(clock.note(1'980'000, kMillisecondOfClock), 1980);
  EXPECT_EQ(clock.note(1000, 5000), 1980);
  EXPECT_EQ(clock.note(1'200'000, kMillisecondOfClock), 1200);
  EXPECT_EQ(clock.mhz(), 1200);
}

TEST(SmClock, IsHeldBackUnderNineTenthsOfTheHighest) {
  SmClock clock;
  EXPECT_FALSE(clock.held_back(100'000, kMillisecondOfClock)) << "nothing to compare with";
  clock.note(2'000'000, kMillisecondOfClock);
  clock.note(1'500'000, kMillisecondOfClock);
  EXPECT_FALSE(clock.held_back(1'800'000, kMillisecondOfClock));
  EXPECT_TRUE(clock.held_back(1'799'000, kMillisecondOfClock));
  EXPECT_FALSE(clock.held_back(1000, 100'000)) << "too short to tell";
}

class SmClockWakes : public ::testing::Test {
 protected:
  // The number of launches. The i-th one sees the i-th clock, and later ones see the last.
  int wake(const std::vector<std::uint64_t>& mhz, std::optional<double> most_mhz = std::nullopt) {
    int spins = 0;
    const auto spin = [&] {
      const std::size_t i = std::min<std::size_t>(spins++, mhz.size() - 1);
      clock_.note(20 * 1000 * mhz[i], SmClock::kSpinNanoseconds);
      clock_.worked();
    };
    clock_.wake(spin, most_mhz);
    return spins;
  }
  SmClock clock_;
};

TEST_F(SmClockWakes, UntilTwoInARowSeeTheSame) {
  EXPECT_EQ(wake({345, 900, 1500, 1980}), 5);
  EXPECT_EQ(clock_.mhz(), 1980);
}

TEST_F(SmClockWakes, WithThreeAtLeastTheFirstTime) { EXPECT_EQ(wake({1980}), 3); }

TEST_F(SmClockWakes, UntilItIsTheHighest) {
  EXPECT_EQ(wake({345, 1978}, 1980), 2);
  EXPECT_EQ(clock_.mhz(), 1978);
}

TEST_F(SmClockWakes, ThoughItIsNeverTheHighest) { EXPECT_EQ(wake({1500}, 1980), 3); }

TEST_F(SmClockWakes, NotForEver) {
  EXPECT_EQ(wake({1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2000, 2100, 2200, 2300, 2400, 2500}), 15);
}

TEST_F(SmClockWakes, NotBehindWork) {
  EXPECT_EQ(wake({1980}), 3);
  EXPECT_EQ(wake({1980}), 0);
}

}  // namespace
}  // namespace gputopo::launch
