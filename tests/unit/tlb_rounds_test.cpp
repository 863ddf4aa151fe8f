// Rounds over other lines of the same pages, and how many lines it takes until an SM's cache serves none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gputopo/program.h"
#include "probe/tlb/rounds.h"

namespace gputopo::probe {
namespace {

using ::testing::ElementsAre;

// This many loads that take `cycles` longer than the second loads.
struct Loads {
  std::uint32_t count = 0;
  std::uint32_t cycles = 0;
};

stats::Histogram paired(const std::vector<Loads>& loads) {
  stats::Histogram histogram(kHistogramBins, 0);
  for (const Loads& some : loads) histogram[(kPairedZeroCycles + some.cycles) / kHistogramBinCycles] += some.count;
  return histogram;
}

TEST(TlbRounds, EachRoundVisitsOtherLinesOfTheSameWindows) {
  EXPECT_THAT(in_rounds({0, 17}, 8, 3), ElementsAre(0, 17, 4, 21, 2, 19));
  EXPECT_THAT(in_rounds({5}, 8, 1), ElementsAre(5));
}

TEST(TlbRounds, NoLineComesTwice) {
  const std::vector<std::uint32_t> all = in_rounds({3, 8, 23}, 8, 8);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 24u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i] / 8, all[i % 3] / 8) << i;
}

// It serves all of 16 lines, a few of 32, and none of 64.
TEST(NearestCache, IsExceededByTheFirstLinesOfWhichItServesNone) {
  const auto found = find_nearest_cache({{16, paired({{2000, 0}})},
                                         {32, paired({{40, 0}, {1960, 110}})},
                                         {64, paired({{2000, 110}})},
                                         {128, paired({{2000, 110}})}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->lines, 64u);
  EXPECT_NEAR(found->gap_cycles, 110, 2);
  EXPECT_NEAR(served_part(paired({{50, 0}, {150, 110}}), *found), 0.25, 0.01);
}

// It serves some of any number of lines, or the level behind it is hardly slower.
TEST(NearestCache, IsNotKnownWhereItServesSomeOfAnyLines) {
  EXPECT_FALSE(find_nearest_cache({{16, paired({{2000, 0}})}, {32, paired({{20, 0}, {1980, 110}})}}));
  EXPECT_FALSE(find_nearest_cache({{16, paired({{2000, 0}})}, {32, paired({{2000, 4}})}}));
}

// A small L2 between serves some of 32 lines and is exceeded by 64, too. Near and far parts of it serve any number.
TEST(NearestCache, MayBeExceededByLinesThatMemoryServes) {
  const auto past_both = find_nearest_cache(
      {{16, paired({{2000, 0}})}, {32, paired({{200, 0}, {1800, 110}})}, {64, paired({{2000, 400}})}});
  ASSERT_TRUE(past_both);
  EXPECT_TRUE(past_both->of_memory);
  const auto of_parts = find_nearest_cache(
      {{16, paired({{2000, 0}})}, {32, paired({{200, 0}, {1800, 110}})}, {64, paired({{1000, 110}, {1000, 300}})}});
  ASSERT_TRUE(of_parts);
  EXPECT_FALSE(of_parts->of_memory);
}

TEST(NearestCache, LoadsPastTheNextTakeAsLongAsOfMemory) {
  const NearestCache nearest{64, 110, 55};
  const auto found = past_next_cache(nearest, 4096, paired({{2000, 238}}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->lines, 4096u);
  // Loads that the next cache serves can be told from those of memory.
  EXPECT_NEAR(served_part(paired({{100, 110}, {100, 238}}), *found), 0.5, 0.01);
  EXPECT_FALSE(past_next_cache(nearest, 4096, paired({{100, 110}, {1900, 238}}))) << "it serves some";
  EXPECT_FALSE(past_next_cache(nearest, 4096, paired({{2000, 116}}))) << "memory takes hardly longer";
}

TEST(NearestCache, SingleLoadsStandForPairs) {
  stats::Histogram raw(kHistogramBins, 0);
  raw[300 / kHistogramBinCycles] = 3;
  raw[410 / kHistogramBinCycles] = 5;
  const stats::Histogram pairs = as_paired(raw, 300);
  EXPECT_EQ(pairs, [&] {
    stats::Histogram expected = paired({{3, 0}, {5, 110}});
    expected.resize(pairs.size());
    return expected;
  }());
  // Hits that are slower than the time subtracted from a pair.
  raw[1300 / kHistogramBinCycles] = 2;
  EXPECT_EQ(as_paired(raw, 1300)[kPairedZeroCycles / kHistogramBinCycles], 2u);
}

TEST(NearestCache, ServesNothingWhereThereIsNone) { EXPECT_EQ(served_part(paired({{100, 0}}), {}), 0); }

}  // namespace
}  // namespace gputopo::probe
