// From readings at several placements to the latency and the throughput of atomics.
#include "probe/warps/atomics_decision.h"

#include <gtest/gtest.h>

#include <vector>

namespace gputopo::probe {
namespace {

TEST(AtomicLatency, OfOnePlacementIsThatReading) {
  const std::vector<AtomicReading> one = {{50, {49, 51.5}, 48, 53}};
  const AtomicLatency found = atomic_latency_of(one);
  EXPECT_DOUBLE_EQ(found.cycles, 50);
  EXPECT_DOUBLE_EQ(found.interval.low, 48.75) << "half of the interval's width on either side";
  EXPECT_DOUBLE_EQ(found.interval.high, 51.5);
  EXPECT_DOUBLE_EQ(found.nearest_cycles, 48);
  EXPECT_DOUBLE_EQ(found.farthest_cycles, 53);
}

TEST(AtomicLatency, IsTheMeanOverPlacements) {
  const std::vector<AtomicReading> placements = {
      {680, {678, 682}, 600, 760}, {700, {698, 702}, 590, 790}, {720, {718, 722}, 640, 810}};
  const AtomicLatency found = atomic_latency_of(placements);
  EXPECT_DOUBLE_EQ(found.cycles, 700);
  EXPECT_LT(found.interval.low, 680) << "placements differ by more than one reading is off";
  EXPECT_GT(found.interval.high, 720);
  EXPECT_DOUBLE_EQ(found.nearest_cycles, 590);
  EXPECT_DOUBLE_EQ(found.farthest_cycles, 810);
}

// All placements share the error of a reading, so equal placements do not narrow the interval.
TEST(AtomicLatency, OfAlikePlacementsIsNoSurerThanOneReading) {
  const std::vector<AtomicReading> placements(8, {700, {696, 704}, 650, 750});
  const AtomicLatency found = atomic_latency_of(placements);
  EXPECT_DOUBLE_EQ(found.interval.low, 696);
  EXPECT_DOUBLE_EQ(found.interval.high, 704);
}

TEST(AtomicThroughput, IsTheMedianTimesTheLanes) {
  const std::vector<double> rates = {0.5, 0.52, 0.48};
  const AtomicThroughput found = atomic_throughput_of(rates, 32);
  EXPECT_DOUBLE_EQ(found.ops_per_clock, 16);
  EXPECT_LT(found.interval.low, 0.48 * 32);
  EXPECT_GT(found.interval.high, 0.52 * 32);
}

TEST(AtomicThroughput, IsKnownToTheDriftOfTheClocks) {
  const std::vector<double> equal(9, 1.0);
  const AtomicThroughput found = atomic_throughput_of(equal, 32);
  EXPECT_DOUBLE_EQ(found.interval.low, 32 * 0.995);
  EXPECT_DOUBLE_EQ(found.interval.high, 32 * 1.005);
  const std::vector<double> one = {1.0};
  EXPECT_DOUBLE_EQ(atomic_throughput_of(one, 32).interval.low, 32 * 0.995);
}

// One placement of six that happens to lie in few slices does not move the median.
TEST(AtomicThroughput, IsNotMovedByAnOutlier) {
  const std::vector<double> rates = {0.5, 0.5, 0.5, 0.1, 0.5, 0.5};
  EXPECT_DOUBLE_EQ(atomic_throughput_of(rates, 100).ops_per_clock, 50);
}

}  // namespace
}  // namespace gputopo::probe
