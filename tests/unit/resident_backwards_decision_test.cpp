// The part of a pass that stays resident, read backwards: the region to read, its misses, the next footprint.
#include "probe/capacity/resident_backwards_decision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "device/sim/machine/random.h"

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kElements = 128 * 100;

std::vector<double> places(const std::function<double(std::size_t)>& hits_at) {
  std::vector<double> hits;
  for (std::size_t place = 0; place < 128; ++place) hits.push_back(hits_at(place));
  return hits;
}

TEST(ResidentBackwards, AStepIsReadAroundItAndWhereMissesAreRare) {
  const auto step = places([](std::size_t place) { return place < 64 ? 1.0 : 0.0; });
  const Region region = turning_region(step, kElements, 7.0 / 8);
  EXPECT_EQ(region.begin, (64 - 56 - 3) * 100u);
  EXPECT_EQ(region.end, (63 + 15 + 4) * 100u);
  EXPECT_GT(turning_region(step, kElements, 1.0 / 3).begin, region.begin);
}

TEST(ResidentBackwards, ARampIsReadWithAMarginOfItsLength) {
  const auto ramp = places([](std::size_t place) {
    return place < 40 ? 1.0 : place < 80 ? 1 - static_cast<double>(place - 39) / 40 : 0.0;
  });
  const Region region = turning_region(ramp, kElements, 0);
  EXPECT_LE(region.begin, 20 * 100u);
  EXPECT_GE(region.end, 100 * 100u);
}

TEST(ResidentBackwards, AnOutlierInAPlaceIsNoMiss) {
  const auto noisy = places([](std::size_t place) { return place < 64 ? 31.0 / 32 : 0.0; });
  const auto clean = places([](std::size_t place) { return place < 64 ? 1.0 : 0.0; });
  EXPECT_EQ(turning_region(noisy, kElements, 0.5).begin, turning_region(clean, kElements, 0.5).begin);
}

TEST(ResidentBackwards, AllOrNothingIsReadWithinTheArray) {
  const Region all = turning_region(places([](std::size_t) { return 1.0; }), kElements, 7.0 / 8);
  EXPECT_LE(all.begin, kElements);
  EXPECT_EQ(all.end, kElements);
  const Region none = turning_region(places([](std::size_t) { return 0.0; }), kElements, 7.0 / 8);
  EXPECT_EQ(none.begin, 0u);
  EXPECT_EQ(none.end, 400u);
  const Region unknown = turning_region({}, kElements, 7.0 / 8);
  EXPECT_EQ(unknown.begin, 0u);
  EXPECT_EQ(unknown.end, kElements) << "no place was looked at";
}

// The hit ratio of 32 loads at each place, in lines of `of_line` loads that each hit by chance.
std::vector<double> by_chance(std::uint64_t seed, double hits, std::size_t of_line) {
  sim::RandomSource random(seed);
  return places([&](std::size_t) {
    std::size_t hit = 0;
    for (std::size_t line = 0; line < 32 / of_line; ++line) hit += random.unit() < hits ? of_line : 0;
    return static_cast<double>(hit) / 32;
  });
}

TEST(ResidentBackwards, WhatDiffersFromLookToLookIsLeftToChance) {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    for (const double hits : {0.2, 0.4, 0.8}) {
      EXPECT_TRUE(has_random_eviction(by_chance(seed, hits, 1), by_chance(seed + 100, hits, 1)));
      EXPECT_TRUE(has_random_eviction(by_chance(seed, hits, 4), by_chance(seed + 100, hits, 4)));
    }
    // The same lines each time, with outliers.
    const auto same = by_chance(seed, 0.4, 1);
    EXPECT_FALSE(has_random_eviction(same, same));
    auto noisy = same;
    for (std::size_t place = seed % 3; place < noisy.size(); place += 3)
      noisy[place] = std::max(0.0, noisy[place] - 1.0 / 32);
    EXPECT_FALSE(has_random_eviction(same, noisy));
    // A neighbor that evicts half of the lines in one of two looks.
    EXPECT_FALSE(has_random_eviction(by_chance(seed, 0.5, 1), by_chance(seed + 100, 0.25, 1)));
    const auto one_piece = places([](std::size_t place) { return place < 64 ? 1.0 : 0.0; });
    EXPECT_FALSE(has_random_eviction(by_chance(seed, 0.5, 1), one_piece));
  }
  EXPECT_FALSE(has_random_eviction(places([](std::size_t) { return 1.0; }), places([](std::size_t) { return 1.0; })));
}

TEST(ResidentBackwards, WhatIsNotInOnePieceIsLookedAtTwice) {
  EXPECT_TRUE(is_scattered(places([](std::size_t place) { return std::exp(-static_cast<double>(place) / 64); })));
  // Many outliers, and loads of memory that look like hits.
  EXPECT_FALSE(is_scattered(places([](std::size_t place) { return place < 64 ? 30.0 / 32 : 2.0 / 32; })));
  EXPECT_FALSE(is_scattered({}));
}

TEST(ResidentBackwards, WhatIsLeftToChanceIsNotReadAtAnyFootprint) {
  ResidentSearch search(1000, 32, 0);
  search.add({.by_chance = true});
  EXPECT_TRUE(search.next_footprints().empty());
  EXPECT_EQ(search.found(128).bytes, 0);
  EXPECT_TRUE(search.found(128).by_chance);
}

TEST(ResidentBackwards, MostCopiesDecideWhatMissed) {
  const std::vector<std::uint32_t> first = {30, 30, 300, 300};
  const std::vector<std::uint32_t> second = {30, 300, 300, 30};
  const std::vector<std::uint32_t> third = {30, 30, 300, 300};
  const std::vector<std::span<const std::uint32_t>> three = {first, second, third};
  EXPECT_EQ(count_missed(three, 100).by_most, 2u);
  EXPECT_EQ(count_missed(three, 100).by_all, 1u) << "a neighbour may have evicted the last in two of them";
  const std::vector<std::span<const std::uint32_t>> two = {first, second};
  EXPECT_EQ(count_missed(two, 100).by_most, 3u) << "a tie is a miss: one that misses never looks fast";
  const std::vector<std::span<const std::uint32_t>> one = {second};
  EXPECT_EQ(count_missed(one, 100).by_most, 2u);
  EXPECT_EQ(count_missed({}, 100).by_most, 0u);
}

// The footprints that are read of a cache that keeps this much of each.
std::vector<double> footprints_read(ResidentSearch& search, const std::function<double(double)>& resident) {
  std::vector<double> footprints;
  while (footprints.size() <= 20) {
    const std::vector<double> next = search.next_footprints();
    if (next.empty()) break;
    for (const double footprint : next) {
      if (search.next_footprints().empty()) break;
      footprints.push_back(footprint);
      const double bytes = resident(footprint);
      search.add({bytes, bytes});
    }
  }
  return footprints;
}

TEST(ResidentSearch, EndsWhenALargerFootprintLeavesNoMore) {
  ResidentSearch search(1000, 32, 0);
  EXPECT_EQ(footprints_read(search, [](double) { return 1024; }), (std::vector<double>{2000, 4000}));
  const SizeView found = search.found(64);
  EXPECT_EQ(found.bytes, 1024);
  EXPECT_EQ(found.interval.low, 960);
  EXPECT_EQ(found.interval.high, 1088);
  EXPECT_TRUE(found.settled);
}

TEST(ResidentSearch, WhatGrowsToTheEndIsNotSettled) {
  ResidentSearch search(1000, 32, 0);
  const auto read = footprints_read(search, [](double footprint) { return 1000 + footprint / 100; });
  EXPECT_EQ(read.back(), 32000);
  const SizeView found = search.found(64);
  EXPECT_FALSE(found.settled);
  EXPECT_EQ(found.bytes, 1320);
  EXPECT_EQ(found.interval.high, 1320 + 64 + 160) << "it may grow as much again";
  EXPECT_EQ(found.interval.low, 1000 - 64) << "or misses look like hits, more with each footprint";
}

TEST(ResidentSearch, ALittleLessIsReadAgain) {
  ResidentSearch search(1000, 32, 0);
  int reading = 0;
  const std::vector<double> resident = {1000, 995, 1010, 1010};
  const auto read = footprints_read(search, [&](double) { return resident.at(static_cast<std::size_t>(reading++)); });
  EXPECT_EQ(read, (std::vector<double>{2000, 4000, 4000, 8000}));
  EXPECT_EQ(search.found(64).bytes, 1010);

  ResidentSearch patient(1000, 32, 0);
  const auto less = footprints_read(patient, [](double footprint) { return footprint < 3000 ? 1000 : 995; });
  EXPECT_EQ(less, (std::vector<double>{2000, 4000, 4000, 4000})) << "but not for ever";
  EXPECT_EQ(patient.found(64).bytes, 1000);
  EXPECT_TRUE(patient.found(64).settled);

  ResidentSearch random(1000, 32, 0);
  random.add({1000, 1200});
  random.add({995, 1200});
  EXPECT_TRUE(random.next_footprints().empty()) << "left to chance: no neighbour took it";

  ResidentSearch at_once(1000, 32, 0);
  EXPECT_EQ(footprints_read(at_once, [](double footprint) { return footprint < 3000 ? 1000 : 900; }),
            (std::vector<double>{2000, 4000}))
      << "much less is not a neighbour's doing";
}

TEST(ResidentSearch, HoldsWhatAnyCopyStillHad) {
  ResidentSearch evicted(10'000, 32, 0);
  evicted.add({9936, 10'000});
  for (int again = 0; again < 3; ++again) evicted.add({9872, 9936});
  EXPECT_EQ(evicted.found(64).bytes, 9936);
  EXPECT_EQ(evicted.found(64).interval.low, 9872);
  EXPECT_EQ(evicted.found(64).interval.high, 10'064) << "a neighbour evicts in most copies";

  ResidentSearch by_chance(10'000, 32, 0);
  by_chance.add({9936, 12'000});
  by_chance.add({9936, 12'000});
  EXPECT_EQ(by_chance.found(64).interval.high, 10'000) << "which lines stay is left to chance: a lower bound";
  EXPECT_TRUE(by_chance.found(64).by_chance);
  EXPECT_FALSE(evicted.found(64).by_chance);
}

TEST(ResidentSearch, LimitsAndWhatCannotBeReadEndIt) {
  ResidentSearch limited(1000, 32, 3000);
  EXPECT_EQ(footprints_read(limited, [](double) { return 1024; }), std::vector<double>{2000});
  EXPECT_FALSE(limited.found(64).settled) << "one reading shows no growth, and no end of it";

  ResidentSearch few(1000, 32, 1400);
  EXPECT_EQ(footprints_read(few, [](double) { return 1024; }), std::vector<double>{1400})
      << "too few capacities for a sample: all that there is";

  ResidentSearch impossible(1000, 32, 1500);
  EXPECT_TRUE(impossible.next_footprints().empty());
  EXPECT_EQ(impossible.found(64).bytes, 0);

  ResidentSearch unread(1000, 32, 0);
  EXPECT_EQ(footprints_read(unread, [](double) { return 0; }), std::vector<double>{2000});
  EXPECT_EQ(unread.found(64).bytes, 0);
  EXPECT_FALSE(unread.found(64).settled);
}

}  // namespace
}  // namespace gputopo::probe
