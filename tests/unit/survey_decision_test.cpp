// How far a sweep goes, and its conclusions about a cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "probe/survey/sweep_decision.h"

namespace gputopo::probe {
namespace {

// This many loads of 30, 200 and 600 cycles.
stats::Histogram loads_of(std::uint32_t near, std::uint32_t far, std::uint32_t memory) {
  stats::Histogram histogram(512);
  histogram[15] = near;
  histogram[100] = far;
  histogram[300] = memory;
  return histogram;
}

constexpr CacheBand kNearest{.floor_cycles = 0, .limit_cycles = 100};
constexpr CacheBand kSecond{.floor_cycles = 100, .limit_cycles = 400};

SweepReading reading_of(const std::vector<stats::Histogram>& histograms, const CacheBand& band = kNearest,
                        const stats::Histogram& tiny = loads_of(1000, 0, 0)) {
  std::vector<std::uint64_t> footprints;
  for (std::size_t i = 0; i < histograms.size(); ++i) footprints.push_back(1000u << i);
  return read_sweep(footprints, histograms, tiny, band);
}

TEST(SweepReading, WhatFitsAndWhatStaysOfWhatDoesNot) {
  const SweepReading reading = reading_of({loads_of(2000, 0, 0), loads_of(2000, 0, 0), loads_of(1500, 500, 0)});
  EXPECT_EQ(reading.fits_bytes, 2000u);
  EXPECT_EQ(reading.resident_bytes, 3000) << "three quarters of the footprint that does not fit";
  EXPECT_EQ(reading.nearer_bytes, 0u);
  EXPECT_EQ(reading.noise, 0);
}

TEST(SweepReading, OfACacheSmallerThanAnyFootprint) {
  const std::vector<std::uint64_t> footprints = {512, 1024};
  const std::vector<stats::Histogram> none_fits = {loads_of(500, 1500, 0), loads_of(0, 2000, 0)};
  const auto fits = [&](const stats::Histogram& tiny) {
    CacheBand band = kNearest;
    band.tiny_bytes = 256;
    return read_sweep(footprints, none_fits, tiny, band).fits_bytes;
  };
  EXPECT_EQ(fits(loads_of(990, 10, 0)), 256u);
  EXPECT_EQ(fits(loads_of(700, 300, 0)), 0u) << "not even the tiny array";
  EXPECT_EQ(read_sweep(footprints, none_fits, loads_of(1000, 0, 0), kNearest).fits_bytes, 0u) << "of what SMs share";
}

TEST(SweepReading, ARampIsNotANeighbour) {
  const SweepReading reading =
      reading_of({loads_of(2000, 0, 0), loads_of(1985, 15, 0), loads_of(1900, 100, 0), loads_of(1000, 1000, 0)});
  EXPECT_EQ(reading.fits_bytes, 2000u) << "within a hundredth";
  const SweepReading disturbed = reading_of({loads_of(1000, 1000, 0), loads_of(2000, 0, 0), loads_of(0, 2000, 0)});
  EXPECT_EQ(disturbed.fits_bytes, 2000u) << "what is part of an array that fits does too";
}

TEST(SweepReading, NoiseIsWhatTheSmallerHalfThatFitsMisses) {
  const SweepReading reading =
      reading_of({loads_of(1998, 2, 0), loads_of(1996, 4, 0), loads_of(1990, 10, 0), loads_of(0, 2000, 0)}, kNearest,
                 loads_of(998, 2, 0));
  EXPECT_EQ(reading.fits_bytes, 4000u);
  EXPECT_NEAR(reading.noise, 0.0015, 1e-9);
  EXPECT_NEAR(reading_of({loads_of(90, 10, 0)}, kNearest, loads_of(950, 50, 0)).noise, 0.05, 1e-9)
      << "too few loads to tell: the tiny array's";
}

TEST(SweepReading, ACacheBehindAnother) {
  const SweepReading reading =
      reading_of({loads_of(2000, 0, 0), loads_of(1000, 1000, 0), loads_of(0, 1000, 1000)}, kSecond);
  EXPECT_EQ(reading.fits_bytes, 2000u);
  EXPECT_EQ(reading.nearer_bytes, 1000u);
  EXPECT_EQ(reading.resident_bytes, 2000);
  // The cache fetches twice the stride, so every second load beyond it hits data that the previous miss fetched.
  CacheBand wide = kSecond;
  wide.misses_at_most = 0.5;
  EXPECT_EQ(reading_of({loads_of(2000, 0, 0), loads_of(0, 1000, 1000)}, wide).resident_bytes, 1000)
      << "nothing of the larger one";
}

TEST(SweepReading, AllFitsOrNothing) {
  EXPECT_EQ(reading_of({loads_of(2000, 0, 0), loads_of(2000, 0, 0)}).fits_bytes, 2000u);
  EXPECT_EQ(reading_of({loads_of(0, 2000, 0)}).fits_bytes, 0u);
  EXPECT_EQ(reading_of({loads_of(0, 2000, 0)}).resident_bytes, 0);
  const SweepReading none = reading_of({});
  EXPECT_EQ(none.fits_bytes, 0u);
  EXPECT_EQ(none.noise, 0);
}

TEST(NearestLevel, EndsAboveTheSpreadOfWhatHits) {
  EXPECT_DOUBLE_EQ(nearest_limit_cycles(loads_of(1000, 0, 0)), 30.5 + 6) << "all equal";
  EXPECT_DOUBLE_EQ(nearest_limit_cycles(loads_of(970, 30, 0)), 30.5 + 6) << "outliers";
  EXPECT_DOUBLE_EQ(nearest_limit_cycles(loads_of(0, 1000, 0)), 200.5 * 1.15);
  EXPECT_DOUBLE_EQ(nearest_limit_cycles(loads_of(1, 0, 0)), 30.5 + 6) << "one load";
}

TEST(IsMemoryAlone, WhereFirstLoadsTakeAsLongAsRepeatedOnes) {
  EXPECT_TRUE(is_memory_alone(500, 500));
  EXPECT_TRUE(is_memory_alone(500, 515)) << "they lie elsewhere in memory";
  EXPECT_TRUE(is_memory_alone(500, 485));
  EXPECT_FALSE(is_memory_alone(500, 530)) << "a cache with quick misses";
}

TEST(LastLevel, IsMixedIfSomeLoadsAreClearlyFasterThanColdOnes) {
  const std::vector<stats::Level> levels = {{.low_cycles = 0, .high_cycles = 150, .mode_cycles = 100},
                                            {.low_cycles = 150, .high_cycles = 1e9, .mode_cycles = 480}};
  const auto loads = [](std::size_t cycles) {
    stats::Histogram histogram(512);
    histogram[cycles / 2] = 256;
    return histogram;
  };
  const std::vector<stats::Histogram> of_cache_and_memory = {loads(100), loads(450), loads(500)};
  EXPECT_TRUE(last_level_is_mixed(of_cache_and_memory, levels, loads(500)));
  const std::vector<stats::Histogram> of_memory = {loads(100), loads(490), loads(520)};
  EXPECT_FALSE(last_level_is_mixed(of_memory, levels, loads(500))) << "2% are chance";
  EXPECT_FALSE(last_level_is_mixed(of_cache_and_memory, levels, {})) << "nothing to compare with";
}

TEST(Sweep, GoesOnWhileLoadsHit) {
  const SweepPart first = first_sweep_part(0);
  EXPECT_EQ(first.from_bytes, 512);
  EXPECT_EQ(first.to_bytes, 1 << 20);
  EXPECT_EQ(first.footprints().size(), 45u) << "eleven octaves of four, and the last";
  EXPECT_FALSE(next_sweep_part(1 << 20, 0.2, 0)) << "hardly any hits";
  const std::optional<SweepPart> second = next_sweep_part(1 << 20, 0.5, 0);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->to_bytes, 4 << 20);
  EXPECT_EQ(second->footprints().size(), 8u);
  EXPECT_EQ(second->copies, 1u);
  EXPECT_EQ(next_sweep_part(4 << 20, 1, 0)->to_bytes, 16 << 20);
  EXPECT_FALSE(next_sweep_part(16 << 20, 1, 0)) << "far enough";
}

TEST(Sweep, EndsWithTheSpace) {
  EXPECT_EQ(first_sweep_part(65536).to_bytes, 65536);
  EXPECT_FALSE(next_sweep_part(65536, 1, 65536));
  EXPECT_EQ(next_sweep_part(1 << 20, 1, 2 << 20)->to_bytes, 2 << 20);
}

TEST(Sweep, OfWhatSmsShareGoesBeyondTheLastCache) {
  const SweepPart part = shared_sweep(50e6);
  EXPECT_EQ(part.to_bytes, 125e6);
  EXPECT_GT(part.footprints().back(), 85e6);
  EXPECT_EQ(part.footprints().front(), 16384);
}

TEST(Sweep, OfWhatSmsShareGoesOnBeyondWhatTheVendorTells) {
  constexpr std::uint64_t kMemory = 64ull << 30;
  const std::optional<SweepPart> next = next_shared_sweep(8 << 20, 0.9, kMemory);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->to_bytes, 20 << 20);
  EXPECT_EQ(next->footprints().size(), 2u) << "two to the octave, from the last on";
  EXPECT_FALSE(next_shared_sweep(8 << 20, 0.3, kMemory)) << "most loads go to memory";
  EXPECT_EQ(next_shared_sweep(300 << 20, 0.9, kMemory)->to_bytes, 512 << 20);
  EXPECT_FALSE(next_shared_sweep(400 << 20, 0.9, kMemory)) << "far enough";
  EXPECT_FALSE(next_shared_sweep(8 << 20, 0.9, 64 << 20)) << "no more than an eighth of the memory";
}

TEST(CountedPlaces, LieAllOverAChain) {
  const std::vector<CountedPlace> places = counted_places(100'000, 2048, 7);
  ASSERT_EQ(places.size(), 64u) << "32 loads each";
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(places[i].loads, 32u);
    EXPECT_GE(places[i].first, i * 100'000 / 64);
    EXPECT_LE(places[i].first + 1 + places[i].loads, (i + 1) * 100'000 / 64 + 1);
  }
  EXPECT_EQ(counted_places(10'000'000, 1'000'000, 7).size(), 512u) << "each takes two steps";
}

TEST(CountedPlaces, DoNotBeginAtThePowersOfTwoThatSetsRepeatAt) {
  std::vector<std::uint64_t> sets;
  for (const CountedPlace& place : counted_places(1 << 20, 2048, 7)) sets.push_back(place.first % 1024 / 256);
  for (std::uint64_t quarter = 0; quarter < 4; ++quarter) EXPECT_GT(std::ranges::count(sets, quarter), 4);
}

TEST(CountedPlaces, OfAShortChainAreFew) {
  const std::vector<CountedPlace> places = counted_places(20, 64, 7);
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].loads, 19u);
  EXPECT_EQ(counted_places(100, 2048, 7).size(), 3u);
}

// Bins of two cycles: `near` loads of 40 cycles and `far` loads of 80.
stats::Histogram two_kinds(std::uint32_t near, std::uint32_t far) {
  stats::Histogram histogram(60);
  histogram[20] = near;
  histogram[40] = far;
  return histogram;
}

// Loads of 200 (near), 400 (far), 550 (near memory) and 750 cycles (far memory).
stats::Histogram sided(std::uint32_t near, std::uint32_t far, std::uint32_t near_memory, std::uint32_t far_memory) {
  stats::Histogram histogram(512);
  histogram[100] = near;
  histogram[200] = far;
  histogram[275] = near_memory;
  histogram[375] = far_memory;
  return histogram;
}
const std::vector<stats::Level> kSided = {
    {0, 300, 200, 0}, {300, 475, 400, 0}, {475, 650, 550, 0}, {650, INFINITY, 750, 0}};

TEST(MemoryAsOne, NearAndFarMemoryAreNoCaches) {
  const std::vector<stats::Histogram> footprints = {sided(100, 0, 0, 0), sided(60, 40, 0, 0), sided(50, 30, 20, 0),
                                                    sided(20, 10, 40, 30)};
  const auto levels = with_memory_as_one(kSided, footprints, sided(0, 0, 50, 50));
  ASSERT_EQ(levels.size(), 3u) << "although near memory comes first";
  EXPECT_EQ(levels[1].mode_cycles, 400);
  EXPECT_EQ(levels[2].low_cycles, 475);
  EXPECT_EQ(levels[2].high_cycles, INFINITY);
}

TEST(MemoryAsOne, AFarPartThatNearMemoryHidesInStays) {
  // Far hits and near memory share a band, which cold loads show as well.
  const std::vector<stats::Level> levels = {{0, 300, 200, 0}, {300, 650, 450, 0}, {650, INFINITY, 750, 0}};
  const std::vector<stats::Histogram> footprints = {sided(100, 0, 0, 0), sided(50, 50, 0, 0), sided(20, 10, 40, 30)};
  EXPECT_EQ(with_memory_as_one(levels, footprints, sided(0, 0, 50, 50)).size(), 3u);
}

TEST(MemoryAsOne, NearAndFarMemoryBehindACacheInOnePart) {
  const std::vector<stats::Level> levels = {{0, 475, 200, 0}, {475, 650, 550, 0}, {650, INFINITY, 750, 0}};
  const std::vector<stats::Histogram> footprints = {sided(100, 0, 0, 0), sided(60, 0, 20, 20)};
  EXPECT_EQ(with_memory_as_one(levels, footprints, sided(0, 0, 50, 50)).size(), 2u);
}

TEST(Sweep, MemoryIsTheNearestLevelOfColdLoads) {
  EXPECT_DOUBLE_EQ(part_before_memory(sided(10, 60, 20, 10), kSided, sided(0, 0, 50, 50)), 0.7) << "near memory too";
  EXPECT_DOUBLE_EQ(part_before_memory(sided(10, 60, 20, 10), kSided, sided(0, 2, 0, 98)), 0.9)
      << "a few cold loads that hit what was fetched along";
  EXPECT_EQ(part_before_memory(sided(10, 60, 20, 10), {}, sided(0, 0, 50, 50)), 0);
}

TEST(Sweep, AFootprintFasterThanColdLoadsIsNearerThanMemory) {
  const auto all_at = [](double cycles) {
    stats::Histogram histogram(kHistogramBins);
    histogram[static_cast<std::size_t>(cycles / kHistogramBinCycles)] = 100;
    return histogram;
  };
  EXPECT_TRUE(is_nearer_than_memory(all_at(276), all_at(298)));
  EXPECT_FALSE(is_nearer_than_memory(all_at(290), all_at(298))) << "slices differ as much";
  EXPECT_FALSE(is_nearer_than_memory(all_at(20), all_at(22))) << "two cycles";
}

TEST(MemoryAsOne, NeitherCachesNorMissesOfTlbs) {
  const std::vector<stats::Histogram> footprints = {sided(100, 0, 0, 0), sided(60, 40, 0, 0), sided(20, 10, 70, 0)};
  EXPECT_EQ(with_memory_as_one(kSided, footprints, sided(0, 0, 0, 100)).size(), 4u) << "a cache that cold loads miss";
  EXPECT_EQ(with_memory_as_one(kSided, footprints, sided(0, 0, 100, 0)).size(), 3u) << "what only far pages wait for";
  EXPECT_TRUE(with_memory_as_one({}, footprints, sided(0, 0, 50, 50)).empty());
}

TEST(ShowsAllLevels, WhereMostLoadsGoToTheLast) {
  const std::vector<stats::Level> levels = {{0, 60, 40}, {60, 1e9, 80}};
  EXPECT_TRUE(shows_all_levels(two_kinds(25, 75), levels));
  EXPECT_FALSE(shows_all_levels(two_kinds(50, 50), levels)) << "no more than twice what the cache holds";
  EXPECT_FALSE(shows_all_levels(two_kinds(0, 100), {{0, 1e9, 80}})) << "one level is none";
}

stats::Level level(double mode) { return {0, 0, mode}; }

TEST(TranslatedLevels, MissesOfATlbAreNone) {
  // L2 at 260, memory at 650, and a TLB that adds 120 beyond its reach.
  const std::vector<stats::Level> levels =
      levels_without_translation({level(260), level(650)}, {level(260), level(380), level(650), level(770)}, {120});
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_EQ(levels[0].mode_cycles, 260);
  EXPECT_EQ(levels[1].mode_cycles, 650);
  EXPECT_NEAR(levels[0].high_cycles, 515, 1) << "halfway between L2 with a miss and memory";
  EXPECT_FALSE(level_hidden_by_translation(levels, {120}));
}

TEST(TranslatedLevels, AFarPartBeyondTheReachStays) {
  const std::vector<stats::Level> levels =
      levels_without_translation({level(260), level(650)}, {level(260), level(474), level(650)}, {30, 60});
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[1].mode_cycles, 474);
}

TEST(TranslatedLevels, AMissAsLongAsTheWayToTheNextLevelHidesIt) {
  const std::vector<stats::Level> levels =
      levels_without_translation({level(260), level(400)}, {level(260), level(400)}, {150});
  EXPECT_EQ(level_hidden_by_translation(levels, {150}), std::size_t{0});
}

// Lines of 128 B and one way, with 512 consecutive bytes in one set: 2 of 16 loads of the tiny array miss.
TEST(TinyArray, IsTwoWhereItsLinesPushOneAnotherOut) {
  const auto tiny = [](std::uint32_t near, std::uint32_t far) {
    stats::Histogram loads(256);
    loads[126 / 2] = near;
    loads[424 / 2] = far;
    return loads;
  };
  const stats::Level nearest{0, 725, 427};
  EXPECT_TRUE(tiny_array_is_two(tiny(896, 128), nearest));
  EXPECT_FALSE(tiny_array_is_two(tiny(1000, 15), nearest)) << "outliers";
  EXPECT_FALSE(tiny_array_is_two(tiny(0, 1024), nearest));
  EXPECT_FALSE(tiny_array_is_two(tiny(1024, 0), {0, 250, 126}));
  EXPECT_FALSE(tiny_array_is_two({}, nearest));
}

}  // namespace
}  // namespace gputopo::probe
