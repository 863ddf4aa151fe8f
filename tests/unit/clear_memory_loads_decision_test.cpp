// The capacity beyond which memory loads appear, if only some of them can be told from hits.
#include "probe/capacity/clear_memory_loads_decision.h"

#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

// Footprints beyond a capacity, with a part `told` of the memory loads that can be told from hits.
std::vector<FootprintHits> beyond(double capacity, double distinguishable_part, double noise = 0) {
  std::vector<FootprintHits> footprints;
  for (const double factor : {1.7, 2.0, 2.5, 3.0, 4.0}) {
    footprints.push_back({factor * capacity, 1 - noise - distinguishable_part * (1 - 1 / factor)});
  }
  return footprints;
}

TEST(ClearMemoryLoads, TheLineGivesBothCoefficients) {
  const MemoryLoads found = memory_loads_of(beyond(50e6, 0.6), 0);
  EXPECT_NEAR(found.distinguishable_part, 0.6, 1e-9);
  EXPECT_NEAR(found.capacity.bytes, 50e6, 1);
  EXPECT_LE(found.capacity.interval.low, found.capacity.bytes);
  EXPECT_GE(found.capacity.interval.high, found.capacity.bytes);
  EXPECT_TRUE(explains_all(found, 400'000));
  EXPECT_NEAR(memory_loads_of(beyond(50e6, 0.6, 0.01), 0.01).capacity.bytes, 50e6, 1) << "noise is taken off";
}

TEST(ClearMemoryLoads, FootprintsThatDisagreeAreNotExplained) {
  std::vector<FootprintHits> footprints = beyond(50e6, 0.6);
  footprints[1].hits -= 0.2;
  footprints[3].hits += 0.2;
  EXPECT_FALSE(explains_all(memory_loads_of(footprints, 0), 400'000));
}

TEST(ClearMemoryLoads, NothingToTellOrAllOfItIsNoAnswer) {
  EXPECT_FALSE(explains_all(memory_loads_of(beyond(50e6, 0), 0), 400'000)) << "all equal";
  EXPECT_FALSE(explains_all(memory_loads_of(beyond(50e6, 0.95), 0), 400'000)) << "residency tells as well";
  EXPECT_FALSE(explains_all(memory_loads_of(beyond(50e6, 0.6), 0), 1000)) << "too few lines for a proportion";
  EXPECT_FALSE(explains_all(memory_loads_of({}, 0), 400'000));
  EXPECT_FALSE(explains_all(MemoryLoads{}, 400'000)) << "not looked at";
}

TEST(ClearMemoryLoads, TheLineBeginsWhereClearMissesDo) {
  const std::vector<FootprintHits> ramp = {{1, 1.0}, {2, 0.99}, {4, 0.975}, {8, 0.9}, {16, 0.99}};
  EXPECT_EQ(largest_without_clear_misses(ramp, 0), 2);
  EXPECT_EQ(largest_without_clear_misses(ramp, 0.01), 4);
  EXPECT_EQ(largest_without_clear_misses(std::vector<FootprintHits>{{8, 0.5}}, 0), 8) << "the smallest there is";
  EXPECT_EQ(largest_without_clear_misses({}, 0), 0);
}

}  // namespace
}  // namespace gputopo::probe
