// The search for places that are resident together, on caches with known sets.
#include "probe/capacity/packing_decision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace gputopo::probe {
namespace {

// Whether no set has more places than ways.
bool fits_sets(const std::vector<std::uint32_t>& set_of, std::size_t ways, const PackingGroup& taken,
               const PackingGroup& group) {
  std::map<std::uint32_t, std::size_t> in_set;
  for (const PackingGroup* part : {&taken, &group}) {
    for (const std::uint32_t place : *part) ++in_set[set_of[place]];
  }
  return std::ranges::all_of(in_set, [&](const auto& entry) { return entry.second <= ways; });
}

PackingGroup packed_in(const std::vector<std::uint32_t>& set_of, std::size_t ways, std::size_t first,
                       double patience = 3) {
  const PackingTrial trial = [&](const std::vector<PackingGroup>& groups, const PackingGroup& taken) {
    std::vector<bool> fits;
    for (const PackingGroup& group : groups) fits.push_back(fits_sets(set_of, ways, taken, group));
    return fits;
  };
  return PackingSearch(set_of.size(), first, patience, trial).run();
}

std::vector<std::uint32_t> random_sets(std::size_t places, std::uint32_t sets) {
  std::mt19937_64 random(3);
  std::vector<std::uint32_t> set_of(places);
  for (std::uint32_t& set : set_of) set = static_cast<std::uint32_t>(random() % sets);
  return set_of;
}

TEST(PackingSearch, FillsEverySetWhateverTheIndex) {
  for (const std::uint32_t ways : {1u, 2u, 8u}) {
    const std::uint32_t sets = 64 / ways;
    const PackingGroup taken = packed_in(random_sets(6 * 64, sets), ways, 40);
    EXPECT_EQ(taken.size(), 64u) << ways << " ways";
    EXPECT_EQ(std::set<std::uint32_t>(taken.begin(), taken.end()).size(), taken.size()) << "each place once";
  }
}

TEST(PackingSearch, AFirstGuessThatIsTooLargeIsCut) {
  EXPECT_EQ(packed_in(random_sets(384, 16), 4, 300).size(), 64u);
  EXPECT_EQ(packed_in(random_sets(384, 16), 4, 100'000).size(), 64u) << "more than there are places";
}

TEST(PackingSearch, TakesAllWhereAllFits) {
  const std::vector<std::uint32_t> one_set(20, 0);
  EXPECT_EQ(packed_in(one_set, 20, 5).size(), 20u);
  EXPECT_EQ(packed_in({0}, 1, 1).size(), 1u) << "one place";
  EXPECT_TRUE(packed_in({}, 1, 1).empty()) << "no place";
}

TEST(PackingSearch, EndsWhereNothingFits) {
  std::size_t tried = 0;
  const PackingTrial never = [&](const std::vector<PackingGroup>& groups, const PackingGroup&) {
    tried += groups.size();
    return std::vector<bool>(groups.size(), false);
  };
  EXPECT_TRUE(PackingSearch(10'000, 100, 3, never).run().empty());
  EXPECT_LT(tried, 200u) << "out of patience";
}

TEST(PackingSearch, NoiseThatRefusesNowAndThenCostsAFewPlacesOnly) {
  const std::vector<std::uint32_t> set_of = random_sets(6 * 64, 16);
  std::mt19937_64 random(5);
  const PackingTrial trial = [&](const std::vector<PackingGroup>& groups, const PackingGroup& taken) {
    std::vector<bool> fits;
    for (const PackingGroup& group : groups) fits.push_back(random() % 20 != 0 && fits_sets(set_of, 4, taken, group));
    return fits;
  };
  const PackingGroup taken = PackingSearch(set_of.size(), 40, 3, trial).run();
  EXPECT_GE(taken.size(), 62u);
  EXPECT_LE(taken.size(), 64u);
}

TEST(PackingDecision, FalseMissesAreTheMiddleOfTheCopies) {
  const std::vector<double> counts = {10, 12, 11, 5000, 9};
  const FalseMisses found = false_misses_of(counts, 1000);
  EXPECT_NEAR(found.per_load, 0.011, 1e-9) << "the middle three of five";
  EXPECT_GT(found.error, 0);
  const FalseMisses none = false_misses_of(std::vector<double>{0}, 1000);
  EXPECT_EQ(none.per_load, 0);
  EXPECT_GT(none.error, 0) << "one copy without any does not prove that there are none";
}

TEST(PackingDecision, MorePassesWhereMoreLoadsLookLikeMisses) {
  EXPECT_EQ(passes_over(1000, {}), 6);
  EXPECT_EQ(passes_over(1000, {.per_load = 0.001}), 32);
  EXPECT_EQ(passes_over(1000, {.per_load = 0.1}), 64);
  EXPECT_EQ(error_of_misses(1000, {}), 0);
  EXPECT_GT(error_of_misses(1000, {.error = 0.001}), 0.9);
}

TEST(PackingDecision, WhatDoesNotFitMissesOnceAPass) {
  const FalseMisses noise{.per_load = 0.001, .error = 0};
  EXPECT_DOUBLE_EQ(misses_a_pass(std::vector<double>{6, 8, 7}, 6000, 1000, noise), (7 - 6) / 6.0);
  EXPECT_DOUBLE_EQ(misses_a_pass(std::vector<double>{12}, 6000, 1000, noise), 1) << "one copy";
  EXPECT_FALSE(misses_many(0.7, 0));
  EXPECT_TRUE(misses_many(0.8, 0));
  EXPECT_FALSE(misses_many(1.3, 0.2)) << "within five errors of the decision";
}

TEST(PackingDecision, FalseMissesAreLearntAgainWhereTheyMatter) {
  EXPECT_EQ(times_to_learn(1000, {.error = 0.0001}, false), 1);
  EXPECT_NEAR(times_to_learn(1000, {.error = 0.0004}, false), 100, 1e-9);
  EXPECT_NEAR(times_to_learn(1000, {.error = 0.0004}, true), 20, 1e-9) << "one after another";
  EXPECT_EQ(times_to_learn(1000, {.error = 0.1}, false), 200);
}

}  // namespace
}  // namespace gputopo::probe
