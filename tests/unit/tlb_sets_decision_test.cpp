// The sets of a TLB from what misses in models of one.
#include "probe/tlb_sets_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

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
  // Pages are dealt in turns: the ways of two sets may differ by one.
  EXPECT_THAT(sets_in(TlbModel({5, 5, 4}), 14).ways, ElementsAre(4, 5, 5));
}

TEST(TlbSets, AreNotToldWhereTheyDoNotAddUp) {
  // A page of something else takes a way of the first set, so that the reach ends there.
  const TlbSetsFound lost = sets_in(TlbModel({15, 16, 16, 16}), 60);
  EXPECT_THAT(lost.ways, IsEmpty());
  EXPECT_FALSE(lost.why.empty());
  EXPECT_THAT(sets_in(TlbModel::even(1, 64), 60).ways, IsEmpty()) << "the reach is larger than that";
}

TEST(TlbSets, AreNotToldUnderRandomReplacement) {
  EXPECT_THAT(sets_in(TlbModel::even(8, 8, Replaced::kRandom), 64).ways, IsEmpty());
}

TEST(TlbSets, OneSetIsSeenInNoise) { EXPECT_THAT(sets_in(TlbModel::even(1, 16), 16, 0.7).ways, ElementsAre(16)); }

TEST(TlbSets, NeedRoomAndPatience) {
  const auto none = [](std::uint64_t) -> MissedPages { throw std::logic_error("nothing is to be measured"); };
  EXPECT_THAT(find_tlb_sets(0, 1 << 20, false, none).ways, IsEmpty());
  EXPECT_THAT(find_tlb_sets(1, 1 << 20, false, none).ways, IsEmpty());
  EXPECT_THAT(find_tlb_sets(513, 1 << 20, false, none).ways, IsEmpty());
  EXPECT_THAT(find_tlb_sets(64, 64, false, none).ways, IsEmpty()) << "no room for a page beyond";
}

}  // namespace
}  // namespace gputopo::probe
