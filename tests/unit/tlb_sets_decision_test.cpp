// The sets of a TLB, from the misses of TLB models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "probe/tlb/sets_decision.h"
#include "support/tlb_model.h"

namespace gputopo::probe {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using truth::Replaced;
using truth::TlbModel;

TlbSetsFound sets_in(const TlbModel& tlb, std::uint64_t entries, double noise_pages = 0) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 1);
  const auto missed = [&](std::uint64_t pages) {
    return MissedPages{tlb.missed(pages) + noise_pages * noise(random), 1 + 2 * noise_pages};
  };
  return find_tlb_sets(entries, 1 << 20, noise_pages > 0, missed);
}

TEST(TlbSets, AreThePagesThatEachPageBeyondPushesOut) {
  EXPECT_THAT(sets_in(TlbModel::even(1, 16), 16).ways, ElementsAre(16));
  EXPECT_THAT(sets_in(TlbModel::even(2, 16), 32).ways, ElementsAre(16, 16));
  const std::vector<std::uint32_t> many = sets_in(TlbModel::even(32, 16), 512).ways;
  EXPECT_THAT(many, SizeIs(32));
  EXPECT_THAT(many, Each(16u));
  EXPECT_THAT(sets_in(TlbModel::even(8, 2), 16).ways, SizeIs(8));
}

TEST(TlbSets, AreUnevenWhereTheyAre) {
  // Pages go to the sets in turn, so the ways of two sets may differ by one.
  EXPECT_THAT(sets_in(TlbModel({5, 5, 4}), 14).ways, ElementsAre(4, 5, 5));
}

TEST(TlbSets, AreNotToldWhereTheyDoNotAddUp) {
  // A foreign page takes a way of the first set, so the reach ends there.
  const TlbSetsFound lost = sets_in(TlbModel({15, 16, 16, 16}), 60);
  EXPECT_THAT(lost.ways, IsEmpty());
  EXPECT_FALSE(lost.why.empty());
  EXPECT_THAT(sets_in(TlbModel::even(1, 64), 60).ways, IsEmpty()) << "the reach is larger than that";
}

TEST(TlbSets, AreNotToldUnderRandomReplacement) {
  EXPECT_THAT(sets_in(TlbModel::even(8, 8, Replaced::kRandom), 64).ways, IsEmpty());
}

TEST(TlbSets, OneSetIsSeenInNoise) { EXPECT_THAT(sets_in(TlbModel::even(1, 16), 16, 0.7).ways, ElementsAre(16)); }

TlbSetsFound even_sets_in(const TlbModel& tlb, std::uint64_t entries, double noise = 0) {
  const MissedPagesCallback missed = [&](std::uint64_t pages) {
    return MissedPages{tlb.missed(pages) + (pages % 2 == 0 ? noise : -noise), std::max(1.0, 2 * noise)};
  };
  constexpr std::uint64_t kRoom = 16384;
  return find_even_tlb_sets(find_tlb_reach({.edge_pages = entries, .width_pages = 2, .max_pages = kRoom}, missed),
                            kRoom, missed);
}

TEST(TlbSets, OfManyEntriesAreToldByHowMissesGrow) {
  EXPECT_EQ(even_sets_in(TlbModel::even(256, 8), 2048).ways, std::vector<std::uint32_t>(256, 8));
  EXPECT_EQ(even_sets_in(TlbModel::even(1024, 8), 8192).ways, std::vector<std::uint32_t>(1024, 8));
  EXPECT_EQ(even_sets_in(TlbModel::even(64, 12), 768, 1).ways, std::vector<std::uint32_t>(64, 12));
  EXPECT_THAT(even_sets_in(TlbModel::even(1, 1000), 1000).ways, ElementsAre(1000));
}

TEST(TlbSets, OfManyEntriesAreNotToldWhereTheyAreNotAlike) {
  std::vector<std::uint32_t> ways(256, 8);
  for (std::size_t set = 0; set < ways.size(); set += 2) ways[set] = 6;
  EXPECT_THAT(even_sets_in(TlbModel(ways), 1792).ways, IsEmpty());
  // A tenth of the sets lost a way to foreign pages. The other sets show eight ways, but the entries do not add up.
  ways.assign(256, 8);
  for (std::size_t set = 0; set < ways.size(); set += 10) ways[set] = 7;
  EXPECT_THAT(even_sets_in(TlbModel(ways), 2022).ways, IsEmpty());
}

TEST(TlbSets, OfManyEntriesAreNotToldUnderRandomReplacement) {
  for (const auto& [sets, each] : {std::pair{256u, 8u}, {64u, 16u}, {512u, 2u}, {128u, 4u}}) {
    EXPECT_THAT(even_sets_in(TlbModel::even(sets, each, Replaced::kRandom), sets * each).ways, IsEmpty()) << each;
  }
}

TEST(TlbSets, OfManyEntriesAreNotToldWhereSetsMissNowAndThen) {
  // Two ways whose sets miss in four of five passes: each page adds 2.4 misses, which looks like one way.
  const MissedPagesCallback missed = [](std::uint64_t pages) {
    return MissedPages{TlbModel::even(512, 2).missed(pages) * (pages < 1536 ? 0.8 : 1), 1};
  };
  const TlbReachFound reach{.known = true, .last_fit_pages = 1024, .missed_per_page = 2.4};
  EXPECT_THAT(find_even_tlb_sets(reach, 16384, missed).ways, IsEmpty());
}

TEST(TlbSets, OfManyEntriesAreNotOneWhereNotAllMiss) {
  const MissedPagesCallback most = [](std::uint64_t pages) { return MissedPages{0.9 * static_cast<double>(pages), 1}; };
  const TlbReachFound reach{.known = true, .last_fit_pages = 998, .overflows_at_once = true};
  EXPECT_THAT(find_even_tlb_sets(reach, 16384, most).ways, IsEmpty());
}

TEST(TlbSets, OfManyEntriesNeedRoom) {
  const auto none = [](std::uint64_t) -> MissedPages { throw std::logic_error("nothing is to be measured"); };
  const TlbReachFound reach{.known = true, .last_fit_pages = 2048, .missed_per_page = 9};
  EXPECT_THAT(find_even_tlb_sets(reach, 2303, none).ways, IsEmpty());
  EXPECT_THAT(find_even_tlb_sets({}, 16384, none).ways, IsEmpty());
}

TEST(TlbSets, NeedRoomAndPatience) {
  const auto none = [](std::uint64_t) -> MissedPages { throw std::logic_error("nothing is to be measured"); };
  EXPECT_THAT(find_tlb_sets(0, 1 << 20, false, none).ways, IsEmpty());
  EXPECT_THAT(find_tlb_sets(1, 1 << 20, false, none).ways, IsEmpty());
  EXPECT_THAT(find_tlb_sets(513, 1 << 20, false, none).ways, IsEmpty());
  EXPECT_THAT(find_tlb_sets(64, 64, false, none).ways, IsEmpty()) << "no room for a page beyond";
}

}  // namespace
}  // namespace gputopo::probe
