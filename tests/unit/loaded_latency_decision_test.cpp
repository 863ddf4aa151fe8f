// From latency and throughput over warps in flight to the knee.
#include "probe/warps/loaded_latency_decision.h"

#include <gtest/gtest.h>

#include <vector>

namespace gputopo::probe {
namespace {

// Little's law: a level with this latency and throughput.
std::vector<LoadedReading> curve(double alone_cycles, double peak_loads_per_cycle) {
  std::vector<LoadedReading> readings;
  for (const double warps : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0}) {
    const double rate = std::min(warps / alone_cycles, peak_loads_per_cycle);
    readings.push_back({warps, warps / rate, rate});
  }
  return readings;
}

TEST(LoadedLatency, HasItsKneeWhereTheThroughputIsReached) {
  const auto found = decide_loaded_latency(curve(40, 0.25));
  ASSERT_TRUE(found.value);
  EXPECT_DOUBLE_EQ(found.value->unloaded_cycles, 40);
  EXPECT_DOUBLE_EQ(found.value->loaded_cycles, 128);
  EXPECT_DOUBLE_EQ(found.value->peak_loads_per_cycle, 0.25);
  EXPECT_DOUBLE_EQ(found.value->knee_warps.value(), 10);
}

TEST(LoadedLatency, HasNoKneeWhereTheThroughputIsNotReached) {
  const auto found = decide_loaded_latency(curve(700, 1));
  ASSERT_TRUE(found.value);
  EXPECT_DOUBLE_EQ(found.value->loaded_cycles, 700);
  EXPECT_EQ(found.value->knee_warps, std::nullopt);
}

// A latency that grows with every warp from the first on, as in an unbounded queue.
TEST(LoadedLatency, OfARampHasItsKneeAtOneWarp) {
  const auto found = decide_loaded_latency(curve(40, 1.0 / 40));
  ASSERT_TRUE(found.value);
  EXPECT_NEAR(found.value->knee_warps.value(), 1, 1e-9);
}

TEST(LoadedLatency, TakesThePeakWhereverItIs) {
  std::vector<LoadedReading> readings = curve(40, 0.25);
  readings[4].loads_per_cycle = 0.3;  // more warps slow each other down
  EXPECT_DOUBLE_EQ(decide_loaded_latency(readings).value->knee_warps.value(), 12);
}

TEST(LoadedLatency, SaturatesAtATenthMore) {
  const std::vector<LoadedReading> noise = {{1, 100, 0.01}, {32, 109, 0.29}};
  EXPECT_EQ(decide_loaded_latency(noise).value->knee_warps, std::nullopt);
  EXPECT_NE(decide_loaded_latency(noise, {.saturated = 1.05}).value->knee_warps, std::nullopt);
}

TEST(LoadedLatency, OfOneReadingAndOfNone) {
  const std::vector<LoadedReading> one = {{1, 100, 0.01}};
  EXPECT_EQ(decide_loaded_latency(one).value->knee_warps, std::nullopt);
  EXPECT_EQ(decide_loaded_latency(one, {.saturated = 0.5}).value->knee_warps, std::nullopt);
  EXPECT_FALSE(decide_loaded_latency({}).value);
}

}  // namespace
}  // namespace gputopo::probe
