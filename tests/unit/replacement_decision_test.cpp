// The replacement policy of a cache, from sequences of loads and their observed hits and misses.
#include "probe/structure/replacement_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace gputopo::probe {
namespace {

using PolicyKind = Policy::Kind;

struct Noise {
  double false_misses = 0;  // part of the hits that look like misses
  double false_hits = 0;
};

// Random sequences of the lines of a set and one more, as copies of a program see them: each turn loads all lines twice
// in random order, and then twice in one fixed order.
std::vector<LoadSequence> random_loads(std::size_t ways, std::mt19937_64& random) {
  std::vector<LoadSequence> sequences(8);
  for (LoadSequence& sequence : sequences) {
    std::vector<std::uint32_t> once(ways + 1);
    std::iota(once.begin(), once.end(), 0u);
    std::ranges::shuffle(once, random);
    for (std::size_t turn = 0; turn < 12; ++turn) {
      std::vector<std::uint32_t> loads = once;
      loads.insert(loads.end(), once.begin(), once.end());
      std::ranges::shuffle(loads, random);
      for (int pass = 0; pass < 2; ++pass) loads.insert(loads.end(), once.begin(), once.end());
      for (const std::uint32_t line : loads) sequence.loads.push_back({.line = line, .counts = turn > 0});
    }
  }
  return sequences;
}

ServedBy seen(bool hit, const Noise& noise, std::mt19937_64& random) {
  const bool wrong = std::bernoulli_distribution(hit ? noise.false_misses : noise.false_hits)(random);
  return hit != wrong ? ServedBy::kHit : ServedBy::kMiss;
}

std::vector<LoadSequence> sequences_of(const Policy& policy, std::size_t ways, const Noise& noise = {},
                                       Beginning beginning = Beginning::kEmpty) {
  std::mt19937_64 random(ways);
  std::vector<LoadSequence> sequences = random_loads(ways, random);
  for (LoadSequence& sequence : sequences) {
    for (int copy = 0; copy < 5; ++copy) {
      const auto set = make_set(policy, ways, ways + 1, beginning);
      std::vector<ServedBy>& served = sequence.copies.emplace_back();
      for (const SetLoad& load : sequence.loads) served.push_back(seen(set->load(load.line), noise, random));
    }
  }
  return sequences;
}

// Evicts a random way, a different one in each copy.
std::vector<LoadSequence> sequences_at_random(std::size_t ways) {
  std::mt19937_64 random(ways);
  std::vector<LoadSequence> sequences = random_loads(ways, random);
  for (LoadSequence& sequence : sequences) {
    for (int copy = 0; copy < 5; ++copy) {
      std::uint32_t absent = 0;  // there is one line more than ways, so one is absent
      std::vector<ServedBy>& served = sequence.copies.emplace_back();
      for (const SetLoad& load : sequence.loads) {
        served.push_back(load.line == absent ? ServedBy::kMiss : ServedBy::kHit);
        if (load.line != absent) continue;
        absent = static_cast<std::uint32_t>((load.line + 1 + random() % ways) % (ways + 1));
      }
    }
  }
  return sequences;
}

std::string decide(const std::vector<LoadSequence>& sequences, std::size_t ways, double false_misses = 0) {
  const Decision<PolicyFit> decision = decide_policy(sequences, ways, false_misses);
  if (!decision.value) return decision.why_not;
  if (!decision.value->fits) return "no policy";
  return decision.value->alone ? to_string(decision.value->policy, ways) : "several";
}

TEST(PolicyDecision, NamesEveryPolicyAtEveryWidth) {
  for (const std::size_t ways : {2u, 3u, 4u, 5u, 8u, 12u, 16u, 24u}) {
    for (const Policy& policy : policies_of(ways)) {
      EXPECT_EQ(decide(sequences_of(policy, ways), ways), to_string(policy, ways));
    }
  }
}

TEST(PolicyDecision, SeesThroughNoise) {
  constexpr Noise kHarsh{.false_misses = 0.05, .false_hits = 0.05};
  for (const std::size_t ways : {2u, 4u, 16u}) {
    for (const Policy& policy : policies_of(ways)) {
      EXPECT_EQ(decide(sequences_of(policy, ways, kHarsh), ways, 0.05), to_string(policy, ways));
    }
  }
}

// If another program's lines fill the set, new lines enter where they replace one of these.
TEST(PolicyDecision, TheBeginningIsNotKnown) {
  for (const std::size_t ways : {4u, 8u}) {
    for (const Policy& policy : policies_of(ways)) {
      EXPECT_EQ(decide(sequences_of(policy, ways, {}, Beginning::kStale), ways), to_string(policy, ways));
    }
  }
}

// The line loaded first is evicted first, or the second if the first was touched again. So an H200's L1 was taken for
// LRU, but it keeps lines that were hit.
TEST(PolicyDecision, SegmentedLruThatLooksLikeLruInOrder) {
  const auto victim = [](const Policy& policy, bool touch_first_again) {
    const auto set = make_set(policy, 4, 5, Beginning::kEmpty);
    for (std::uint32_t line = 0; line < 4; ++line) set->load(line);
    if (touch_first_again) set->load(0);
    set->load(4);
    std::uint32_t line = 0;
    while (set->load(line)) ++line;
    return line;
  };
  constexpr Policy kLru{.kind = PolicyKind::kLru};
  constexpr Policy kSegmented{.kind = PolicyKind::kSegmentedLru, .protected_ways = 2};
  for (const bool touch : {false, true}) EXPECT_EQ(victim(kSegmented, touch), victim(kLru, touch)) << touch;
  EXPECT_EQ(decide(sequences_of(kSegmented, 4), 4), "segmented_lru 2/4");
  EXPECT_EQ(decide(sequences_of(kLru, 4), 4), "lru");
}

TEST(PolicyDecision, ChanceIsNoPolicy) {
  for (const std::size_t ways : {2u, 3u, 4u, 8u, 24u, 64u, 192u}) {
    EXPECT_EQ(decide(sequences_at_random(ways), ways), "no policy") << ways;
  }
}

// A line of another set always hits, and the other lines always fit.
TEST(PolicyDecision, LinesThatFitTellNothing) {
  EXPECT_THAT(decide(sequences_of({.kind = PolicyKind::kLru}, 4), 5), testing::Not("lru"));
  std::vector<LoadSequence> sequences = sequences_of({.kind = PolicyKind::kLru}, 4);
  for (LoadSequence& sequence : sequences) {
    for (auto& copy : sequence.copies) std::ranges::fill(copy, ServedBy::kHit);
  }
  EXPECT_EQ(decide(sequences, 4), "the lines of a set hardly evict one another");
  EXPECT_FALSE(decide_policy({}, 4, 0).value);
}

TEST(PolicyDecision, HitsThatAreNotToldFromMissesTellNothing) {
  constexpr Noise kTooMuch{.false_misses = 0.3, .false_hits = 0.3};
  EXPECT_THAT(decide(sequences_of({.kind = PolicyKind::kLru}, 4, kTooMuch), 4),
              testing::HasSubstr("noise blurs hits and misses"));
}

// This cache does not see accesses that a nearer cache serves.
TEST(PolicyDecision, WhatANearerCacheServesIsLeftOut) {
  std::mt19937_64 random(1);
  std::vector<LoadSequence> sequences = random_loads(4, random);
  std::vector<LoadSequence> by_chance = sequences;
  for (LoadSequence& sequence : sequences) {
    const auto set = make_set({.kind = PolicyKind::kFifo}, 4, 5, Beginning::kEmpty);
    std::vector<ServedBy> served;
    for (std::size_t i = 0; i < sequence.loads.size(); ++i) {
      const bool repeats = i > 0 && sequence.loads[i].line == sequence.loads[i - 1].line;
      served.push_back(repeats                             ? ServedBy::kNearer
                       : set->load(sequence.loads[i].line) ? ServedBy::kHit
                                                           : ServedBy::kMiss);
    }
    sequence.copies.assign(5, served);
  }
  EXPECT_EQ(decide(sequences, 4), "fifo");
  for (LoadSequence& sequence : by_chance) {
    for (int copy = 0; copy < 5; ++copy) {
      std::vector<ServedBy>& served = sequence.copies.emplace_back();
      for (std::size_t i = 0; i < sequence.loads.size(); ++i) {
        served.push_back(random() % 4 == 0 ? ServedBy::kNearer : random() % 2 == 0 ? ServedBy::kHit : ServedBy::kMiss);
      }
    }
  }
  EXPECT_THAT(decide(by_chance, 4), testing::HasSubstr("the nearer cache"));
}

TEST(PolicyDecision, HowOftenMostAreWrong) {
  EXPECT_NEAR(majority_error_probability(5, 0.1), 0.00856, 1e-5);
  EXPECT_EQ(majority_error_probability(5, 0), 0);
  EXPECT_EQ(majority_error_probability(0, 0), 1);
}

// Victims of 400 new lines, by age.
VictimShares shares(std::vector<double> share_by_age, double seen = 400, double tried = 400) {
  std::vector<std::size_t> looked(share_by_age.size());
  std::iota(looked.begin(), looked.end(), std::size_t{0});
  return {.share_by_age = std::move(share_by_age), .looked = std::move(looked), .seen = seen, .tried = tried};
}

const VictimShares kAny = shares({0.26, 0.24, 0.23, 0.27});

TEST(RandomDecision, AnyLineAsLikely) {
  EXPECT_EQ(decide_random(kAny, kAny, 0).value, true);
  EXPECT_EQ(decide_random(shares({0.25, 0.25, 0.25, 0.25}), kAny, 0).value, true);
  EXPECT_DOUBLE_EQ(evenness(shares({0.25, 0.25, 0.25, 0.25}), 0), 1);
}

// Not most recently used: all lines but the youngest are equally likely.
TEST(RandomDecision, ARampIsNotRandom) {
  EXPECT_EQ(decide_random(shares({0.4, 0.3, 0.2, 0.1}), kAny, 0).value, false);
  EXPECT_EQ(decide_random(shares({0.333, 0.333, 0.333, 0}), kAny, 0).value, false);
  EXPECT_EQ(decide_random(kAny, shares({1, 0, 0, 0}), 0).value, false);
}

TEST(RandomDecision, BehindAnotherCacheItIsRandomOrNotTold) {
  EXPECT_EQ(decide_random(kAny, kAny, 0, true).value, true);
  const Decision<bool> other = decide_random(shares({0.4, 0.3, 0.2, 0.1}), kAny, 0, true);
  EXPECT_FALSE(other.value);
  EXPECT_THAT(other.why_not, testing::HasSubstr("because a nearer cache"));
}

// If hits look like misses, lines that are checked earlier are taken for victims more often.
TEST(RandomDecision, NoiseThatIsKnownIsAllowedFor) {
  constexpr std::size_t kWays = 24;
  constexpr double kFalse = 0.03;
  std::vector<double> share_by_age;
  double left = 1;
  for (std::size_t i = 0; i < kWays; ++i) {
    share_by_age.push_back(left * (1 + kFalse * static_cast<double>(kWays - 1 - i)) / kWays);
    left *= 1 - kFalse;
  }
  EXPECT_LT(evenness(shares(share_by_age, 2000), 0), 1e-4);
  EXPECT_GT(evenness(shares(share_by_age, 2000), kFalse), 0.1);
}

// Random replacement disturbed by neighbors: with 2% false misses, these shares are neither even nor clearly uneven.
TEST(RandomDecision, SharesThatNoiseMayHaveMadeUnevenTellNothing) {
  const VictimShares disturbed = shares({0.2, 0.29, 0.28, 0.23}, 2000, 2000);
  EXPECT_LT(evenness(disturbed, 0.02), 1e-4);
  EXPECT_NEAR(unevenness(disturbed, 0), 0.0216 - 0.0015, 1e-9);
  EXPECT_FALSE(decide_random(disturbed, kAny, 0.02).value);
  EXPECT_EQ(decide_random(disturbed, kAny, 0).value, false);
  EXPECT_EQ(decide_random(shares({0.4, 0.3, 0.2, 0.1}, 2000, 2000), kAny, 0.02).value, false);
}

// 455 ways and 200 victims, at most one in each way.
TEST(RandomDecision, OfMoreWaysThanVictimsManyAreOneGroup) {
  std::vector<double> share_by_age(455, 0);
  for (std::size_t i = 0; i < 200; ++i) share_by_age[(i * 181 + 7) % 455] += 1.0 / 200;
  EXPECT_EQ(decide_random(shares(share_by_age, 200), shares(share_by_age, 200), 0).value, true);
  std::vector<double> oldest(455, 0);
  for (std::size_t i = 0; i < 40; ++i) oldest[i] = 1.0 / 40;
  EXPECT_EQ(decide_random(shares(oldest, 200), shares(oldest, 200), 0).value, false);
  EXPECT_FALSE(decide_random(shares(oldest, 200), shares(oldest, 200), 0.01).value) << "four lines look like victims";
}

TEST(RandomDecision, NeedsMostNewLinesToHaveAVictim) {
  EXPECT_FALSE(decide_random(shares({0.5, 0.5}, 199), shares({0.5, 0.5}), 0).value);
  EXPECT_FALSE(decide_random(shares({0.5, 0.5}), shares({0.5, 0.5}, 199), 0).value);
  EXPECT_EQ(decide_random(shares({0.5, 0.5}, 201), shares({0.5, 0.5}, 201), 0).value, true);
  EXPECT_FALSE(decide_random({}, {}, 0).value);
  EXPECT_EQ(evenness(shares({0, 0}, 0, 0), 0), 0);
}

TEST(VictimShares, CountWhoWent) {
  const std::vector<std::optional<std::size_t>> victims = {1, 2, 2, std::nullopt, 0};
  const VictimShares found = share_victims({1, 2, 0}, victims);
  EXPECT_EQ(found.tried, 5);
  EXPECT_EQ(found.seen, 4);
  EXPECT_DOUBLE_EQ(found.seen_part(), 0.8);
  EXPECT_THAT(found.share_by_age, testing::ElementsAre(0.25, 0.25, 0.5));
  EXPECT_THAT(found.looked, testing::ElementsAre(1, 2, 0));
}

TEST(VictimShares, OfNoVictimsAreNone) {
  const VictimShares found = share_victims({0, 1}, std::vector<std::optional<std::size_t>>(3));
  EXPECT_EQ(found.seen_part(), 0);
  EXPECT_THAT(found.share_by_age, testing::ElementsAre(0, 0));
  EXPECT_EQ(share_victims({}, {}).seen_part(), 0);
}

}  // namespace
}  // namespace gputopo::probe
