#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "probe/latency/level_decision.h"
#include "probe/partitions/cache_behind.h"

namespace gputopo::probe {
namespace {

constexpr double kMebi = 1 << 20;

TEST(CacheBehind, LinesWithANearHomeAreMissingInAFarPart) {
  EXPECT_EQ(decide_cache_behind({.part_of_evicted = 0.5}), CacheBehind::kFarPart) << "two partitions";
  EXPECT_EQ(decide_cache_behind({.part_of_evicted = 0.875}), CacheBehind::kFarPart) << "eight partitions";
}

CacheBehind decide(std::size_t sides, const ResidentInLevels& swept, const ResidentInLevels& sampled) {
  return decide_cache_behind({.part_of_evicted = 0.99, .swept = swept, .sampled = sampled, .sides = sides});
}
CacheBehind decide(std::size_t sides, const ResidentInLevels& resident) { return decide(sides, resident, resident); }

TEST(CacheBehind, AllSmsReachThePartsOfOneCacheDifferently) {
  EXPECT_EQ(decide(1, {kMebi, 4 * kMebi}), CacheBehind::kAnotherCache);
  EXPECT_EQ(decide(17, {kMebi, 17 * kMebi}), CacheBehind::kAnotherCache) << "L2 has no so many partitions";
}

TEST(CacheBehind, NearPartsMakeUpTheWhole) {
  EXPECT_EQ(decide(2, {2 * kMebi, 4 * kMebi}), CacheBehind::kFarPart);
  EXPECT_EQ(decide(2, {2 * kMebi, 3.9 * kMebi}), CacheBehind::kFarPart) << "what sampling misses";
  EXPECT_EQ(decide(2, {2 * kMebi, 3.7 * kMebi}), CacheBehind::kUnknown);
  EXPECT_EQ(decide(2, {2 * kMebi, 3.5 * kMebi}), CacheBehind::kAnotherCache);
  EXPECT_EQ(decide(2, {2 * kMebi, 6 * kMebi}), CacheBehind::kAnotherCache);
}

// Caches of 768 KiB for each of six groups of SMs, before one of 4 MiB.
TEST(CacheBehind, CachesOfGroupsBeforeASmallerOne) {
  EXPECT_EQ(decide(6, {0.75 * kMebi, 4 * kMebi}), CacheBehind::kAnotherCache);
}

TEST(CacheBehind, ProtectedLinesMayHideHalfOfALevel) {
  EXPECT_EQ(decide(2, {2 * kMebi, 4 * kMebi}, {1 * kMebi, 4 * kMebi}), CacheBehind::kUnknown);
  EXPECT_EQ(decide(2, {2 * kMebi, 4 * kMebi}, {1 * kMebi, 2 * kMebi}), CacheBehind::kFarPart);
  EXPECT_EQ(decide(2, {2 * kMebi, 12 * kMebi}, {1 * kMebi, 6 * kMebi}), CacheBehind::kAnotherCache);
}

// A cache of 64 KiB for each of four groups, before one of 192 KiB: the sweep sees lines that only one of the two has.
TEST(CacheBehind, LinesOfOneOfTwoCachesAddUp) {
  constexpr double kKibi = 1 << 10;
  EXPECT_EQ(decide(4, {64 * kKibi, 256 * kKibi}, {64 * kKibi, 192 * kKibi}), CacheBehind::kUnknown);
}

TEST(CacheBehind, UnknownSidesLeaveADoubt) {
  EXPECT_EQ(decide_cache_behind({.part_of_evicted = 1}), CacheBehind::kUnknown);
}

stats::Histogram loads(std::size_t near, std::size_t far, std::size_t memory) {
  std::vector<std::uint32_t> cycles(near, 100);
  cycles.insert(cycles.end(), far, 200);
  cycles.insert(cycles.end(), memory, 600);
  return histogram_of(cycles);
}

Survey survey_of(std::vector<stats::Histogram> footprints, const stats::Histogram& cold) {
  Survey survey;
  survey.levels = {{.low_cycles = 0, .high_cycles = 150, .mode_cycles = 100},
                   {.low_cycles = 150, .high_cycles = 400, .mode_cycles = 200},
                   {.low_cycles = 400, .high_cycles = 1e9, .mode_cycles = 600}};
  survey.histograms = std::move(footprints);
  survey.cold = cold;
  return survey;
}

TEST(CacheBehind, AFootprintThatGoesToNoMemoryLeavesADoubt) {
  const stats::Histogram cold = loads(0, 0, 64);
  const Survey two_caches = survey_of({loads(99, 0, 1), loads(60, 39, 1), loads(30, 69, 1), loads(20, 40, 40)}, cold);
  EXPECT_EQ(held_by_farther(two_caches, 0), 1u) << "the second largest";
  // Near lines are evicted like copies of far ones: as many loads go to memory as to the far part.
  const Survey two_parts = survey_of({loads(99, 0, 1), loads(40, 30, 30), loads(20, 40, 40)}, cold);
  EXPECT_FALSE(held_by_farther(two_parts, 0));
  const Survey near_memory = survey_of({loads(99, 0, 1), loads(60, 39, 1)}, loads(0, 32, 32));
  EXPECT_FALSE(held_by_farther(near_memory, 0)) << "half of the cold loads take as long as that level";
  EXPECT_FALSE(held_by_farther(survey_of({}, cold), 0));
}

}  // namespace
}  // namespace gputopo::probe
