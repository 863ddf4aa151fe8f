// The reach of a TLB, from the misses of TLB models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "probe/tlb/reach_decision.h"
#include "support/tlb_model.h"

namespace gputopo::probe {
namespace {

using truth::Replaced;
using truth::TlbModel;

MissedPagesCallback misses_in(const TlbModel& tlb, double noise_pages = 0) {
  return [tlb, noise_pages, random = std::mt19937_64(5)](std::uint64_t pages) mutable {
    std::normal_distribution<double> noise(0, 1);
    return MissedPages{tlb.missed(pages) + noise_pages * noise(random), std::max(1.0, 3 * noise_pages)};
  };
}

TlbReachQuestion near(std::uint64_t pages) {
  return {.edge_pages = pages, .width_pages = 2, .max_pages = std::numeric_limits<double>::infinity()};
}

void expect_exactly(const TlbReachFound& found, double entries) {
  EXPECT_TRUE(found.known);
  EXPECT_EQ(found.last_fit_pages, entries) << found.why;
  EXPECT_EQ(found.pages.low, entries);
  EXPECT_EQ(found.pages.high, entries + 1);
}

TEST(TlbReach, IsToThePageInFullyAssociativeLevels) {
  for (const std::uint32_t entries : {1u, 2u, 16u, 64u, 1000u}) {
    SCOPED_TRACE(entries);
    expect_exactly(find_tlb_reach(near(entries), misses_in(TlbModel::even(1, entries))), entries);
  }
}

TEST(TlbReach, OfOneSetTakesNoWalksFartherOn) {
  std::vector<std::uint64_t> walked;
  const TlbModel tlb = TlbModel::even(1, 16);
  expect_exactly(find_tlb_reach(near(17),
                                [&](std::uint64_t pages) {
                                  walked.push_back(pages);
                                  return MissedPages{0.9 * tlb.missed(pages), 1};
                                }),
                 16);
  EXPECT_LE(walked.size(), 11u);
}

TEST(TlbReach, IsToThePageInSets) {
  expect_exactly(find_tlb_reach(near(32), misses_in(TlbModel::even(2, 16))), 32);
  expect_exactly(find_tlb_reach(near(512), misses_in(TlbModel::even(32, 16))), 512);
  expect_exactly(find_tlb_reach(near(2048), misses_in(TlbModel::even(128, 16))), 2048);
}

TEST(TlbReach, IsFoundWhereTheCoarseEdgeIsSomePercentOff) {
  for (const std::uint64_t coarse : {495u, 505u, 520u, 530u}) {
    expect_exactly(find_tlb_reach(near(coarse), misses_in(TlbModel::even(32, 16))), 512);
  }
}

TEST(TlbReach, IsWhereMissesGrowWithEveryPage) {
  // A foreign page takes a way of one set, which overflows long before the others.
  std::vector<std::uint32_t> ways(256, 8);
  ways[5] = 7;
  const TlbReachFound found = find_tlb_reach(near(1800), misses_in(TlbModel(ways)));
  EXPECT_TRUE(found.known);
  EXPECT_NEAR(found.last_fit_pages, 2048, 2) << found.why;
  EXPECT_LE(found.pages.low, 1797) << "some pages miss from there on";
  EXPECT_GE(found.pages.high, 2049);
}

TEST(TlbReach, IsNotWhereNeighbouringSetsOverflowSooner) {
  // Sixty consecutive sets hold a foreign page. Just beyond the first of them, misses grow as if all sets did.
  std::vector<std::uint32_t> ways(256, 8);
  for (std::size_t set = 0; set < 60; ++set) ways[set] = 7;
  const TlbReachFound found = find_tlb_reach(near(1800), misses_in(TlbModel(ways)));
  EXPECT_TRUE(found.known);
  EXPECT_LE(found.pages.low, 1988);
  EXPECT_GE(found.pages.high, 1988);
  std::vector<std::uint32_t> many_ways(64, 32);
  many_ways[5] = 31;
  EXPECT_GE(find_tlb_reach(near(1990), misses_in(TlbModel(many_ways))).pages.high, 2047);
}

TEST(TlbReach, IsAnIntervalWhereAllSetsOverflowTooSoon) {
  // The same with more ways: a tenth beyond the reach every page misses, and further pages add no misses.
  std::vector<std::uint32_t> ways(128, 16);
  ways[5] = 15;
  const TlbReachFound found = find_tlb_reach(near(1930), misses_in(TlbModel(ways)));
  EXPECT_TRUE(found.known);
  EXPECT_EQ(found.pages.low, 1925) << found.why;
  EXPECT_GE(found.pages.high, 2049);
}

TEST(TlbReach, IsAnIntervalWhereSetsAreUneven) {
  // Every second set lost ways, so misses grow unevenly.
  std::vector<std::uint32_t> ways(32, 16);
  for (std::size_t set = 0; set < ways.size(); set += 2) ways[set] = 14;
  const TlbModel tlb(ways);
  const TlbReachFound found = find_tlb_reach(near(450), misses_in(tlb));
  EXPECT_TRUE(found.known);
  EXPECT_LE(found.pages.low, 448);
  EXPECT_GE(found.pages.high, 449);
}

TEST(TlbReach, IsToThePageUnderRandomReplacementToo) {
  for (const auto& [sets, ways] : {std::pair{1u, 64u}, {8u, 8u}, {32u, 16u}}) {
    SCOPED_TRACE(sets);
    expect_exactly(find_tlb_reach(near(sets * ways), misses_in(TlbModel::even(sets, ways, Replaced::kRandom))),
                   sets * ways);
  }
}

TEST(TlbReach, HoldsTheTruthInNoise) {
  const TlbReachFound found = find_tlb_reach(near(2048), misses_in(TlbModel::even(128, 16), 4));
  EXPECT_TRUE(found.known);
  EXPECT_LE(found.pages.low, 2048) << found.why;
  EXPECT_GE(found.pages.high, 2048) << found.why;
  EXPECT_NEAR(found.last_fit_pages, 2048, 8);
}

TEST(TlbReach, HoldsTheTruthWhereNoiseWasTakenForTooMuch) {
  // Two fewer pages seem to miss, so the first overfull set does not show.
  const TlbModel tlb = TlbModel::even(1024, 2);
  const TlbReachFound found = find_tlb_reach(near(2048), [&tlb](std::uint64_t pages) {
    return MissedPages{tlb.missed(pages) - 2, 2.1};
  });
  EXPECT_TRUE(found.known);
  EXPECT_EQ(found.last_fit_pages, 2048) << found.why;
  EXPECT_EQ(found.pages.low, 2047);
  EXPECT_EQ(found.pages.high, 2050);
}

TEST(TlbReach, StaysAsItWasWhereNothingOrEverythingMisses) {
  const TlbReachFound none = find_tlb_reach(near(100), [](std::uint64_t) { return MissedPages{0, 1}; });
  EXPECT_FALSE(none.known);
  EXPECT_EQ(none.why, "as many as 112 pages fit");
  const TlbReachFound all = find_tlb_reach(near(100), [](std::uint64_t pages) {
    return MissedPages{static_cast<double>(pages), 1};
  });
  EXPECT_FALSE(all.known);
  EXPECT_EQ(all.why, "even with only 20 pages, some miss");
}

// Bursts of noise: one of each three looks finds misses, whatever the number of pages.
TEST(TlbReach, IsNotWhereFewLooksMissByChance) {
  const TlbModel tlb = TlbModel::even(1, 1524);
  int look = 0;
  const TlbReachFound found = find_tlb_reach(near(820), [&](std::uint64_t pages) {
    const bool in_burst = pages <= 850 ? pages > 820 : look++ % 3 == 0;
    return MissedPages{tlb.missed(pages) + (in_burst ? 4.5 : 0), 3};
  });
  EXPECT_FALSE(found.known && found.pages.high < 1524) << found.why;
}

// The sweep's edge is too high: fewer pages fit.
TEST(TlbReach, IsFoundWellBeforeTheCoarseEdge) {
  const TlbReachFound found = find_tlb_reach(near(700), misses_in(TlbModel::even(32, 16)));
  EXPECT_TRUE(found.known);
  EXPECT_EQ(found.last_fit_pages, 512) << found.why;
}

TEST(TlbReach, SaysThatNoneOrMoreFit) {
  EXPECT_TRUE(find_tlb_reach(near(100), [](std::uint64_t) { return MissedPages{0, 1}; }).more_fit);
  EXPECT_TRUE(find_tlb_reach(near(100), [](std::uint64_t pages) {
                return MissedPages{static_cast<double>(pages), 1};
              }).none_fit);
}

TEST(TlbReach, WithoutRoomBeyondTakesTheSetsThatOverflow) {
  TlbReachQuestion question = near(512);
  question.max_pages = 540;
  expect_exactly(find_tlb_reach(question, misses_in(TlbModel::even(32, 16))), 512);
  // A ramp of single pages: no set overflows.
  const auto ramp = [](std::uint64_t pages) {
    return MissedPages{pages > 510 ? 1.5 + 0.1 * static_cast<double>(pages - 510) : 0, 1};
  };
  EXPECT_FALSE(find_tlb_reach(question, ramp).known);
}

TEST(TlbGrowth, LeadsBackToWhereMissesBegin) {
  const TlbGrowth growth = make_tlb_growth({110, 120, 130, 140, 150, 160}, {170, 340, 510, 680, 850, 1020});
  EXPECT_EQ(growth.begin(), 100);
  EXPECT_TRUE(growth.is_straight());
  EXPECT_NEAR(growth.margin_pages, 0, 1e-6);
  EXPECT_EQ(growth.next_from(), 100);
}

TEST(TlbGrowth, ABendIsNotStraight) {
  const TlbGrowth growth = make_tlb_growth({110, 120, 130, 140, 150, 160}, {16, 16, 16, 186, 356, 526});
  EXPECT_FALSE(growth.is_straight());
  EXPECT_GT(growth.margin_pages, 4);
  EXPECT_EQ(growth.next_from(), 129) << "the last two lead back to the bend";
}

TEST(TlbGrowth, NoGrowthBeginsNowhere) {
  const TlbGrowth growth = make_tlb_growth({110, 120, 130, 140, 150, 160}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(growth.begin(), 0);
  EXPECT_EQ(growth.next_from(), 160);
  EXPECT_FALSE(TlbGrowth{}.is_straight()) << "no points";
}

// ---- The coarse edge ----

constexpr double kLoads = 4096;  // of a walk

MissedPartCallback parts_of(const TlbModel& tlb, int& calls) {
  return [tlb, &calls](std::uint64_t pages) {
    ++calls;
    return MissedPart{tlb.missed(pages) / static_cast<double>(pages), kLoads};
  };
}

TEST(TlbCoarseEdge, IsNearInAFewLooks) {
  int calls = 0;
  const stats::Interval pages =
      find_coarse_edge(1024, 4096, {.rise_cycles = 20}, parts_of(TlbModel::even(1, 2000), calls)).pages;
  EXPECT_LE(pages.low, 2000);
  EXPECT_GT(pages.high, 2000);
  EXPECT_LE(pages.high - pages.low, 2000.0 / 256 + 1);
  EXPECT_LE(calls, 10);
}

TEST(TlbCoarseEdge, OfNeighboursIsKnown) {
  int calls = 0;
  const stats::Interval pages =
      find_coarse_edge(16, 17, {.rise_cycles = 20}, parts_of(TlbModel::even(1, 16), calls)).pages;
  EXPECT_EQ(pages.low, 16);
  EXPECT_EQ(pages.high, 17);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(find_coarse_edge(16, 16, {}, parts_of(TlbModel::even(1, 16), calls)).pages.high, 16);
}

TEST(TlbCoarseEdge, IsLowerByWhatNoiseMayHide) {
  int calls = 0;
  const MissSignature noisy{.rise_cycles = 10, .false_part = 0.2, .line_error = 0.4, .line_error_lines = 16};
  const CoarseEdge edge = find_coarse_edge(256, 1024, noisy, parts_of(TlbModel::even(1, 400), calls));
  EXPECT_NEAR(edge.pages.low, edge.pages.high * (1 - 3 * 0.4 * std::sqrt(16.0 / 400)), 6);
  const CoarseEdgeParameters parameters;
  EXPECT_NEAR(edge.undetectable_by_chance, parameters.untold_chance * parameters.deviations * std::sqrt(0.2 / kLoads),
              1e-4);
  const MissSignature hidden{.rise_cycles = 10, .false_part = 0.2, .line_error = 100, .line_error_lines = 16};
  const stats::Interval untold = find_coarse_edge(256, 1024, hidden, parts_of(TlbModel::even(1, 400), calls)).pages;
  EXPECT_GE(untold.low, 0.4 * untold.high) << "not by more than half";
}

}  // namespace
}  // namespace gputopo::probe
