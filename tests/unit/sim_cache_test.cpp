// One simulated cache, compared with the rules of a cache and with a plain model.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <numeric>
#include <set>
#include <span>

#include "device/sim/cache/cache.h"
#include "device/sim/cache/division.h"
#include "device/sim/memory/hierarchy.h"
#include "gputopo/error.h"
#include "probe/structure/replacement_policies.h"
#include "support/wide_machine.h"

namespace gputopo::sim {
namespace {

using testing::Each;
using testing::HasSubstr;

CacheSpec spec_of(std::uint64_t size_bytes, std::uint32_t ways, Replacement replacement = Replacement::kLru,
                  IndexHash index = IndexHash::kModulo) {
  return {.id = "c",
          .size_bytes = size_bytes,
          .line_bytes = 128,
          .sector_bytes = 32,
          .ways = ways,
          .replacement = replacement,
          .index = index};
}

Cache make_cache(const CacheSpec& spec) {
  Cache cache(geometry_of(spec, spec.size_bytes));
  cache.start_program(1);
  return cache;
}

// Loads every line of a contiguous array once and returns the number of hits.
std::uint64_t pass(Cache& cache, std::uint64_t lines, std::uint64_t base = 0) {
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < lines; ++i) hits += cache.access(base + i * 128) ? 1 : 0;
  return hits;
}

TEST(SimCache, HitsWhatItHoldsAndNothingElse) {
  Cache cache = make_cache(spec_of(4096, 4));
  EXPECT_EQ(pass(cache, 32), 0u);
  EXPECT_EQ(pass(cache, 32), 32u);
  EXPECT_FALSE(cache.access(32 * 128));
}

TEST(SimCache, FetchesOneSectorOfALine) {
  Cache cache = make_cache(spec_of(4096, 4));
  EXPECT_FALSE(cache.access(0));
  EXPECT_TRUE(cache.access(16));
  EXPECT_FALSE(cache.access(32));
  EXPECT_FALSE(cache.access(96));
  EXPECT_TRUE(cache.access(127));
}

TEST(SimCache, CyclicLruMissesAlwaysBeyondItsCapacity) {
  for (const std::uint32_t ways : {1u, 4u, 0u}) {
    Cache cache = make_cache(spec_of(4096, ways));
    pass(cache, 64);
    EXPECT_EQ(pass(cache, 64), 0u) << ways << " ways";
  }
}

TEST(SimCache, FifoForgetsTheOldestEvenIfItWasUsed) {
  Cache cache = make_cache(spec_of(2 * 128, 0, Replacement::kFifo));
  cache.access(0);
  cache.access(128);
  EXPECT_TRUE(cache.access(0));
  cache.access(256);
  EXPECT_FALSE(cache.access(0));
}

TEST(SimCache, LruKeepsWhatWasUsed) {
  Cache cache = make_cache(spec_of(2 * 128, 0));
  cache.access(0);
  cache.access(128);
  EXPECT_TRUE(cache.access(0));
  cache.access(256);
  EXPECT_TRUE(cache.access(0));
  EXPECT_FALSE(cache.access(128));
}

TEST(SimCache, TreePlruEvictsAwayFromTheLastUsed) {
  Cache cache = make_cache(spec_of(4 * 128, 4, Replacement::kTreePlru));
  pass(cache, 4);                // ways 0 to 3; the tree points to way 0
  EXPECT_TRUE(cache.access(0));  // now it points to the right half, way 2
  EXPECT_FALSE(cache.access(4 * 128));
  EXPECT_FALSE(cache.access(2 * 128));
}

TEST(SimCache, RandomKeepsAShareOfACyclicArray) {
  Cache cache = make_cache(spec_of(64 * 128, 0, Replacement::kRandom));
  for (int i = 0; i < 20; ++i) pass(cache, 96);
  const std::uint64_t hits = pass(cache, 96);
  EXPECT_GT(hits, 10u);
  EXPECT_LT(hits, 70u);
}

TEST(SimCache, IsEmptyForEveryProgram) {
  Cache cache = make_cache(spec_of(4096, 4, Replacement::kTreePlru));
  pass(cache, 32);
  cache.start_program(2);
  EXPECT_EQ(pass(cache, 32), 0u);
  EXPECT_EQ(pass(cache, 32), 32u);
}

// A plain model of the same cache.
class PlainCache {
 public:
  PlainCache(std::uint64_t sets, std::uint64_t ways) : sets_(sets), ways_(ways) {}
  bool access(std::uint64_t address) {
    std::deque<std::uint64_t>& set = sets_[address / 128 % sets_.size()];
    const auto found = std::find(set.begin(), set.end(), address / 128);
    const bool hit = found != set.end();
    if (hit) set.erase(found);
    set.push_front(address / 128);
    if (set.size() > ways_) set.pop_back();
    return hit;
  }

 private:
  std::vector<std::deque<std::uint64_t>> sets_;
  std::uint64_t ways_;
};

TEST(SimCache, AgreesWithAPlainLru) {
  for (const std::uint32_t ways : {1u, 3u, 8u, 64u}) {
    const std::uint64_t sets = 12;
    CacheSpec spec = spec_of(sets * ways * 128, ways);
    spec.sector_bytes = 128;
    Cache cache = make_cache(spec);
    PlainCache plain(sets, ways);
    RandomSource random(7);
    for (int i = 0; i < 50000; ++i) {
      const std::uint64_t address = std::uint64_t{random.below(static_cast<std::uint32_t>(2 * sets * ways))} * 128;
      ASSERT_EQ(cache.access(address), plain.access(address)) << ways << " ways, load " << i;
    }
  }
}

// Addresses as in walks: consecutive stretches, and jumps.
std::vector<std::uint64_t> walked_addresses(RandomSource& random, std::size_t loads) {
  std::vector<std::uint64_t> addresses;
  while (addresses.size() < loads) {
    const std::uint64_t begin = (std::uint64_t{4} << 20) + std::uint64_t{random.below(1u << 14)} * 32;
    const std::uint32_t stretch = random.below(2) == 0 ? 1 : 1 + random.below(200);
    for (std::uint32_t i = 0; i < stretch; ++i) addresses.push_back(begin + std::uint64_t{32} * i);
  }
  addresses.resize(loads);
  return addresses;
}

// The loads of a run pass one cache after the other instead of one load after the other. This must change neither their
// latencies nor the state after a rollback.
TEST(SimHierarchy, LoadsOfARunAreThoseLoadsOneAfterAnother) {
  RandomSource random(3);
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const MachineSpec machine = truth::wide_machine(seed);
    for (const auto& [space, unused] : machine.spaces) {
      SCOPED_TRACE(fmt::format("machine {}, {}", seed, to_string(space)));
      Hierarchy alone(machine);
      Hierarchy in_runs(machine);
      alone.start_program(0, seed);
      in_runs.start_program(0, seed);
      const Path path = alone.path_of(space, 0);
      const Path path_in_runs = in_runs.path_of(space, 0);
      const std::vector<std::uint64_t> addresses = walked_addresses(random, 3000);
      for (int round = 0; round < 3; ++round) {
        std::vector<double> expected;
        for (const std::uint64_t address : addresses) expected.push_back(alone.load(path, address));
        std::vector<double> cycles(addresses.size());
        for (std::size_t first = 0; first < addresses.size();) {
          const std::size_t count = std::min<std::size_t>(1 + random.below(kMaxLoadsAtOnce), addresses.size() - first);
          in_runs.load(path_in_runs, std::span(addresses).subspan(first, count), &cycles[first]);
          first += count;
        }
        ASSERT_EQ(cycles, expected) << "round " << round;
        if (round == 0) alone.checkpoint();
        if (round == 0) in_runs.checkpoint();
        if (round == 1) alone.rollback(seed);
        if (round == 1) in_runs.rollback(seed);
      }
    }
  }
}

TEST(SimDivision, IsThatOfIntegers) {
  RandomSource random(5);
  for (const std::uint64_t divisor : {1ull, 2ull, 3ull, 7ull, 12ull, 4096ull, 65535ull, 1000003ull}) {
    const Division division(divisor);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t any = random.next() >> (24 + random.below(40));
      for (const std::uint64_t dividend : {any, any / divisor * divisor, any / divisor * divisor + divisor - 1}) {
        ASSERT_EQ(division.quotient(dividend), dividend / divisor) << dividend << " / " << divisor;
        ASSERT_EQ(division.remainder(dividend), dividend % divisor) << dividend << " / " << divisor;
      }
    }
  }
}

// Measured on an H200: a line that was hit survives many new lines of its set.
TEST(SimCache, SegmentedLruKeepsWhatWasHit) {
  CacheSpec spec = spec_of(4 * 128, 4, Replacement::kSegmentedLru);
  spec.protected_ways = 2;
  Cache cache = make_cache(spec);
  pass(cache, 4);
  EXPECT_TRUE(cache.access(0));
  for (std::uint64_t line = 4; line < 13; ++line) EXPECT_FALSE(cache.access(line * 128));
  EXPECT_TRUE(cache.holds(0)) << "nine new lines";
  EXPECT_FALSE(cache.holds(1 * 128));
  // All four hit: the last two are protected, the others are evicted.
  cache.start_program(1);
  pass(cache, 4);
  EXPECT_EQ(pass(cache, 4), 4u);
  for (std::uint64_t line = 4; line < 13; ++line) EXPECT_FALSE(cache.access(line * 128));
  EXPECT_FALSE(cache.holds(0));
  EXPECT_FALSE(cache.holds(1 * 128));
  EXPECT_TRUE(cache.holds(2 * 128));
  EXPECT_TRUE(cache.holds(3 * 128));
}

TEST(SimCache, SegmentedLruThatIsNeverHitIsFifo) {
  CacheSpec spec = spec_of(4096, 4, Replacement::kSegmentedLru);
  spec.protected_ways = 3;
  Cache cache = make_cache(spec);
  pass(cache, 64);
  EXPECT_EQ(pass(cache, 64), 0u);
}

// Compares two independent models: the simulator's, and that of the probe that names policies.
TEST(SimCache, PoliciesAgreeWithTheModelsOfTheProbe) {
  using Kind = probe::Policy::Kind;
  for (const std::uint32_t ways : {2u, 4u, 7u, 16u, 24u}) {
    std::vector<std::pair<Replacement, probe::Policy>> policies = {{Replacement::kLru, {.kind = Kind::kLru}},
                                                                   {Replacement::kFifo, {.kind = Kind::kFifo}},
                                                                   {Replacement::kSrrip, {.kind = Kind::kSrrip}}};
    if (std::has_single_bit(ways)) policies.push_back({Replacement::kTreePlru, {.kind = Kind::kPseudoLru}});
    for (std::uint32_t p = 1; p < ways; p += 3) {
      policies.push_back({Replacement::kSegmentedLru, {.kind = Kind::kSegmentedLru, .protected_ways = p}});
    }
    for (const auto& [replacement, policy] : policies) {
      CacheSpec spec = spec_of(ways * 128, ways, replacement);
      spec.sector_bytes = 128;
      spec.protected_ways = static_cast<std::uint32_t>(policy.protected_ways);
      Cache cache = make_cache(spec);
      const auto set = probe::make_set(policy, ways, 2 * ways, probe::Beginning::kEmpty);
      RandomSource random(7);
      for (int i = 0; i < 5000; ++i) {
        if (i == 2000) cache.checkpoint();
        const std::uint32_t line = random.below(2 * ways);
        ASSERT_EQ(cache.access(line * 128), set->load(line)) << probe::to_string(policy, ways) << ", load " << i;
      }
    }
  }
}

TEST(SimCache, PoliciesAreRolledBack) {
  for (const Replacement replacement : {Replacement::kSegmentedLru, Replacement::kSrrip}) {
    CacheSpec spec = spec_of(8 * 128, 8, replacement);
    if (replacement == Replacement::kSegmentedLru) spec.protected_ways = 3;
    Cache cache = make_cache(spec);
    const auto loads = [&](std::uint64_t seed) {
      RandomSource lines(seed);
      std::vector<bool> hits;
      for (int i = 0; i < 300; ++i) hits.push_back(cache.access(std::uint64_t{lines.below(12)} * 128));
      return hits;
    };
    static_cast<void>(loads(1));
    cache.checkpoint();
    const std::vector<bool> first = loads(2);
    cache.rollback(1);
    EXPECT_EQ(loads(2), first);
  }
}

TEST(SimCache, XorFoldFillsTheSetsEvenlyWithAContiguousArray) {
  Cache cache = make_cache(spec_of(64 * 4 * 128, 4, Replacement::kLru, IndexHash::kXorFold));
  pass(cache, 256, 1 << 20);
  EXPECT_EQ(pass(cache, 256, 1 << 20), 256u);
}

// The ramp of an H200's L1: misses begin below the capacity and are total well above it.
TEST(SimCache, MixedIndexMakesARamp) {
  const std::uint64_t capacity = 1536;
  const auto hits_at = [&](std::uint64_t lines) {
    Cache cache = make_cache(spec_of(capacity * 128, 96, Replacement::kLru, IndexHash::kMixed));
    pass(cache, lines);
    pass(cache, lines);
    return static_cast<double>(pass(cache, lines)) / static_cast<double>(lines);
  };
  EXPECT_EQ(hits_at(capacity * 90 / 100), 1.0);
  EXPECT_LT(hits_at(capacity), 0.7);
  EXPECT_GT(hits_at(capacity), 0.2);
  EXPECT_EQ(hits_at(capacity * 120 / 100), 0.0);
}

TEST(SimCache, MixedIndexReachesEverySetOfALargeCache) {
  Cache cache = make_cache(spec_of(64ull << 20, 8, Replacement::kLru, IndexHash::kMixed));
  const std::uint64_t lines = (64ull << 20) / 128;
  pass(cache, 2 * lines);
  std::uint64_t resident = 0;
  for (std::uint64_t i = 2 * lines; i-- > 0;) resident += cache.access(i * 128) ? 1 : 0;
  EXPECT_GE(resident, lines * 98 / 100);
}

TEST(SimGeometry, AUnifiedCacheLosesWaysToTheCarveOut) {
  CacheSpec spec = spec_of(256 << 10, 128);
  spec.unified = true;
  const CacheGeometry geometry = geometry_of(spec, 192 << 10);
  EXPECT_EQ(geometry.set_ways.size(), 16u);
  EXPECT_THAT(geometry.set_ways, Each(96u));
}

TEST(SimGeometry, KeepsEveryLineThatIsLeft) {
  const CacheSpec spec = spec_of(64 << 10, 4);
  for (const std::uint64_t usable : {40000u, 1280u, 128u}) {
    const CacheGeometry geometry = geometry_of(spec, usable);
    EXPECT_EQ(std::accumulate(geometry.set_ways.begin(), geometry.set_ways.end(), std::uint64_t{0}), usable / 128);
  }
}

TEST(SimGeometry, TreePlruLosesSets) {
  const CacheGeometry geometry = geometry_of(spec_of(64 << 10, 4, Replacement::kTreePlru), 48 << 10);
  EXPECT_EQ(geometry.set_ways.size(), 96u);
  EXPECT_THAT(geometry.set_ways, Each(4u));
}

TEST(SimGeometry, UnequalSets) {
  CacheSpec spec = spec_of(6 * 128, 0);
  spec.set_ways = {4, 2};
  Cache cache = make_cache(spec);
  pass(cache, 12);  // six lines in each set
  std::uint64_t resident = 0;
  for (std::uint64_t i = 12; i-- > 0;) resident += cache.access(i * 128) ? 1 : 0;
  EXPECT_EQ(resident, 6u);
}

TEST(SimGeometry, RefusesWhatCannotBe) {
  const auto message_of = [](const CacheSpec& spec) {
    try {
      static_cast<void>(geometry_of(spec, spec.size_bytes));
      return std::string("accepted");
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(message_of(spec_of(3 * 128, 3, Replacement::kTreePlru)),
              HasSubstr("number of ways to be a power of two"));
  EXPECT_THAT(message_of(spec_of(3 * 128, 1, Replacement::kLru, IndexHash::kXorFold)),
              HasSubstr("number of sets to be a power of two, not 3"));
  EXPECT_THAT(message_of(spec_of(64, 1)), HasSubstr("cannot hold one line"));
  EXPECT_THAT(message_of(spec_of(65 * 128, 65, Replacement::kSegmentedLru)), HasSubstr("at most 64 ways"));
  EXPECT_THAT(message_of(spec_of(33 * 128, 33, Replacement::kSrrip)), HasSubstr("at most 32 ways"));
}

}  // namespace
}  // namespace gputopo::sim
