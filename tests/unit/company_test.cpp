// When a launch met other processes, and which parts of it they may have stopped. Times as on an H200.
#include "device/launch/company.h"

#include <gtest/gtest.h>

namespace gputopo::launch {
namespace {

constexpr std::uint64_t kMicrosecond = 1000;

TEST(Company, AnIdleGpuDoesNotLetALaunchWait) {
  const Company company;
  for (const std::uint64_t wait : {0, 9, 25, 95}) {
    EXPECT_FALSE(company.had_to_wait((864 + wait) * kMicrosecond, 864 * kMicrosecond)) << wait;
  }
  EXPECT_FALSE(company.had_to_wait(0, 864 * kMicrosecond)) << "the host's time is not known";
}

TEST(Company, AnothersTurnDoes) {
  const Company company;
  EXPECT_TRUE(company.had_to_wait(465 * kMicrosecond, 187 * kMicrosecond)) << "of little kernels of another gputopo";
  EXPECT_TRUE(company.had_to_wait(3389 * kMicrosecond, 968 * kMicrosecond)) << "of a kernel that streams";
}

TEST(Company, AWaitThatNeverIsConfirmedIsTheKernelsOwn) {
  Company company;
  EXPECT_FALSE(company.met_others(false, false));
  EXPECT_TRUE(company.met_others(false, true)) << "others came meanwhile";
  EXPECT_TRUE(company.met_others(true, true));
  EXPECT_TRUE(company.met_others(true, false)) << "they ended meanwhile";
  EXPECT_FALSE(company.met_others(false, false));
  EXPECT_TRUE(company.met_others(true, false));
  EXPECT_TRUE(company.met_others(true, false));
  EXPECT_FALSE(company.met_others(true, false)) << "each time the same, and nobody there";
  EXPECT_TRUE(company.met_others(true, true)) << "now somebody is";
}

TEST(Company, TheShortestTurnCounts) {
  Company company;
  EXPECT_EQ(company.alone_ns(), 0u) << "nothing is known";
  company.note_turn(0);
  EXPECT_EQ(company.alone_ns(), 0u);
  company.note_turn(2'096'000);
  EXPECT_EQ(company.alone_ns(), 1'886'400u);
  company.note_turn(1'000'000);
  company.note_turn(2'096'000);
  EXPECT_EQ(company.alone_ns(), 900'000u);
}

TEST(Company, TheEndOfATurnIsNotLookedForWithoutEnd) {
  Company company;
  int searches = 0;
  while (company.wants_search()) ++searches;
  EXPECT_EQ(searches, company.parameters().searches);
  Company other;
  other.note_turn(2'096'000);
  EXPECT_FALSE(other.wants_search());
}

}  // namespace
}  // namespace gputopo::launch
