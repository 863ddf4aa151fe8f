// A cache that takes a walk as a whole ends in the same state as one that loads line by line, under any policy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/sim/cache/cache.h"
#include "device/sim/cache/homes.h"
#include "device/sim/machine/random.h"

namespace gputopo::sim {
namespace {

constexpr std::uint32_t kLineBytes = 128;

CacheGeometry drawn_geometry(RandomSource& random) {
  CacheGeometry geometry{.line_bytes = kLineBytes, .sector_bytes = random.below(2) == 0 ? 32u : kLineBytes};
  const std::uint32_t sets = 1 + random.below(60);
  const std::uint32_t ways = 1 + random.below(12);
  const std::uint32_t wider = random.below(2) == 0 ? 0 : random.below(sets);
  for (std::uint32_t set = 0; set < sets; ++set) geometry.set_ways.push_back(ways + (set < wider ? 1 : 0));
  constexpr std::array kPolicies = {Replacement::kLru, Replacement::kFifo, Replacement::kRandom, Replacement::kTreePlru,
                                    Replacement::kSrrip};
  geometry.replacement = kPolicies[random.below(kPolicies.size())];
  if (geometry.replacement == Replacement::kTreePlru) {
    std::ranges::transform(geometry.set_ways, geometry.set_ways.begin(), std::bit_floor<std::uint32_t>);
  }
  return geometry;
}

// The same cache twice: one takes walks as a whole, the other one load after another.
struct Twins {
  Cache whole;
  Cache one_by_one;
  bool by_age;  // the last lines of a walk stay resident
  HomeMap homes;
  std::optional<std::uint32_t> home;

  Twins(const CacheGeometry& geometry, RandomSource& random)
      : whole(geometry),
        one_by_one(geometry),
        by_age(replaces_by_age(geometry.replacement)),
        homes(2 + random.below(2), kLineBytes,
              geometry.set_ways.size() + (random.below(4) == 0 ? 1 : 0)),  // otherwise partitions fill evenly
        home(random.below(2) == 0 ? std::nullopt : std::optional(random.below(2))) {}

  template <typename Act>
  void both(const Act& act) {
    act(whole);
    act(one_by_one);
  }
  [[nodiscard]] bool comes_here(std::uint64_t address) const { return !home || homes.home_of(address) == *home; }

  // Returns whether the walk was taken as a whole, in which case the other cache loads it too.
  bool walk(const NewWalk& walk) {
    if (!by_age && !whole.can_take_walk(walk, homes, home)) return false;
    const std::optional<bool> is_overfull = whole.take_walk(walk, homes, home);
    EXPECT_TRUE(is_overfull || by_age);
    if (!is_overfull) return false;
    for (std::uint64_t i = walk.done; i < walk.loads; ++i) load(walk, i);
    // If the walk overfills its sets, walking again must miss every line.
    bool finds = false;
    for (std::uint64_t i = 0; i < walk.loads && *is_overfull; ++i) {
      const std::uint64_t address = walk.first_address + i * walk.stride_bytes;
      const bool begins_line = address % kLineBytes == 0 && comes_here(address);
      finds = finds || (begins_line && one_by_one.holds(address));
      load(walk, i);
    }
    EXPECT_FALSE(finds);
    return true;
  }

 private:
  void load(const NewWalk& walk, std::uint64_t i) {
    const std::uint64_t address = walk.first_address + i * walk.stride_bytes;
    if (comes_here(address)) one_by_one.access(address);
  }
};

// Addresses within the walk, behind it and before it.
void expect_no_difference(Twins& twins, const NewWalk& walk, RandomSource& random) {
  const std::uint64_t span = walk.loads * walk.stride_bytes;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t address =
        walk.first_address - kLineBytes * 8 + random.below(static_cast<std::uint32_t>(span) + kLineBytes * 16);
    switch (random.below(8)) {
      case 0:
        twins.both([&](Cache& cache) { cache.invalidate(address); });
        break;
      case 1:
      case 2:
        ASSERT_EQ(twins.whole.access(address), twins.one_by_one.access(address)) << i;
        break;
      default:
        ASSERT_EQ(twins.whole.holds(address), twins.one_by_one.holds(address)) << i;
    }
  }
}

// Other lines, which the walk then meets in some sets.
void load_before(Twins& twins, const NewWalk& walk, RandomSource& random) {
  for (std::uint32_t i = random.below(20); i > 0; --i) {
    const std::uint64_t address = walk.first_address - kLineBytes * (1 + random.below(60));
    twins.both([&](Cache& cache) { cache.access(address); });
  }
}

// A walk, one that continues it, and the first again after a rollback, with loads between them.
void expect_no_difference_of_program(Twins& twins, std::uint64_t loads, RandomSource& random, int& taken,
                                     int& replayed) {
  twins.both([](Cache& cache) { cache.start_program(1); });
  NewWalk walk{.first_address = kLineBytes * (100 + random.below(1000)),
               .stride_bytes = 32u << random.below(3),
               .loads = loads,
               .done = 0};
  if (random.below(2) == 0) load_before(twins, walk, random);
  if (!twins.walk(walk)) return;
  ++(twins.by_age ? taken : replayed);
  EXPECT_TRUE(!twins.one_by_one.chose_at_random() || twins.whole.chose_at_random());
  twins.both([](Cache& cache) { cache.checkpoint(); });
  expect_no_difference(twins, walk, random);
  twins.both([](Cache& cache) { cache.rollback(1); });
  expect_no_difference(twins, walk, random);
  twins.both([](Cache& cache) { cache.rollback(1); });
  if (random.below(2) == 0) return expect_no_difference(twins, walk, random);
  twins.both([](Cache& cache) { cache.end_checkpoint(); });
  const std::uint64_t of_line = kLineBytes / walk.stride_bytes;
  walk.done = (walk.loads + of_line - 1) / of_line * of_line;
  walk.loads = walk.done + 1 + random.below(static_cast<std::uint32_t>(loads));
  for (std::uint64_t i = loads; i < walk.done; ++i) {  // rest of the last line
    const std::uint64_t address = walk.first_address + i * walk.stride_bytes;
    if (twins.comes_here(address)) twins.both([&](Cache& cache) { cache.access(address); });
  }
  if (twins.walk(walk)) expect_no_difference(twins, walk, random);
  // Another walk that evicts all of these lines, or is not taken.
  walk.first_address += walk.loads * walk.stride_bytes / kLineBytes * kLineBytes + kLineBytes * (1 + random.below(99));
  walk.done = 0;
  if (twins.walk(walk)) expect_no_difference(twins, walk, random);
}

TEST(SimWalk, TakenWholeIsLineByLine) {
  RandomSource random(21);
  int taken = 0;
  int replayed = 0;
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(fmt::format("cache {}", i));
    const CacheGeometry geometry = drawn_geometry(random);
    std::uint32_t lines = 0;
    for (const std::uint32_t ways : geometry.set_ways) lines += ways;
    Twins twins(geometry, random);
    for (int program = 0; program < 2; ++program) {
      expect_no_difference_of_program(twins, 1 + random.below(lines * 12), random, taken, replayed);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(taken, 1500);
  EXPECT_GT(replayed, 500);
}

}  // namespace
}  // namespace gputopo::sim
