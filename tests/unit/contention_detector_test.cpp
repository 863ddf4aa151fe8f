// When a launch met other processes, and which parts of it they may have stopped. Times as on an H200.
#include "device/launch/contention_detector.h"

#include <gtest/gtest.h>

namespace gputopo::launch {
namespace {

constexpr std::uint64_t kMicrosecond = 1000;

TEST(ContentionDetector, AnIdleGpuDoesNotLetALaunchWait) {
  const ContentionDetector detector;
  for (const std::uint64_t wait : {0, 9, 25, 95}) {
    EXPECT_FALSE(detector.had_to_wait((864 + wait) * kMicrosecond, 864 * kMicrosecond)) << wait;
  }
  EXPECT_FALSE(detector.had_to_wait(0, 864 * kMicrosecond)) << "the host's time is not known";
}

TEST(ContentionDetector, AnothersTurnDoes) {
  const ContentionDetector detector;
  EXPECT_TRUE(detector.had_to_wait(465 * kMicrosecond, 187 * kMicrosecond)) << "of little kernels of another gputopo";
  EXPECT_TRUE(detector.had_to_wait(3389 * kMicrosecond, 968 * kMicrosecond)) << "of a kernel that streams";
}

TEST(ContentionDetector, AWaitThatNeverIsConfirmedIsTheKernelsOwn) {
  ContentionDetector detector;
  EXPECT_FALSE(detector.saw_contention(false, false));
  EXPECT_TRUE(detector.saw_contention(false, true)) << "others came meanwhile";
  EXPECT_TRUE(detector.saw_contention(true, true));
  EXPECT_TRUE(detector.saw_contention(true, false)) << "they ended meanwhile";
  EXPECT_FALSE(detector.saw_contention(false, false));
  EXPECT_TRUE(detector.saw_contention(true, false));
  EXPECT_TRUE(detector.saw_contention(true, false));
  EXPECT_FALSE(detector.saw_contention(true, false)) << "each time the same, and nobody there";
  EXPECT_TRUE(detector.saw_contention(true, true)) << "now somebody is";
}

TEST(ContentionDetector, TheShortestTurnCounts) {
  ContentionDetector detector;
  EXPECT_EQ(detector.alone_ns(), 0u) << "nothing is known";
  detector.record_time_slice(0);
  EXPECT_EQ(detector.alone_ns(), 0u);
  detector.record_time_slice(2'096'000);
  EXPECT_EQ(detector.alone_ns(), 1'886'400u);
  detector.record_time_slice(1'000'000);
  detector.record_time_slice(2'096'000);
  EXPECT_EQ(detector.alone_ns(), 900'000u);
}

TEST(ContentionDetector, TheEndOfATurnIsNotLookedForWithoutEnd) {
  ContentionDetector detector;
  int searches = 0;
  while (detector.wants_search()) ++searches;
  EXPECT_EQ(searches, detector.parameters().searches);
  ContentionDetector other;
  other.record_time_slice(2'096'000);
  EXPECT_FALSE(other.wants_search());
}

}  // namespace
}  // namespace gputopo::launch
