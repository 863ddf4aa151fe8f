#include "probe/tlb/page_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace gputopo::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::uint32_t> ascending(std::uint32_t count) {
  std::vector<std::uint32_t> blocks(count);
  std::iota(blocks.begin(), blocks.end(), 0u);
  return blocks;
}

TEST(PageOrder, StaysWhereEveryBlockHasAnEntry) {
  EXPECT_EQ(past_nearer(ascending(10), 4096, {}), ascending(10));
  EXPECT_EQ(past_nearer(ascending(10), 4096, {.entry_bytes = 4096, .reach_bytes = 16384}), ascending(10));
  EXPECT_THAT(past_nearer({}, 4096, {.entry_bytes = 8192, .reach_bytes = 16384}), IsEmpty());
}

TEST(PageOrder, ChangesTheEntryFromBlockToBlock) {
  // Two entries of two blocks each: all other entries of a window of four come between the two blocks of one entry.
  EXPECT_THAT(past_nearer(ascending(8), 4096, {.entry_bytes = 8192, .reach_bytes = 16384}),
              ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
}

// Entries of two blocks begin with an odd one: block 7 shares its entry with block 8, where the next window begins.
TEST(PageOrder, FromTheMiddleNoWindowBeginsWhereTheLastEnded) {
  const std::vector<std::uint32_t> order =
      past_nearer(ascending(16), 4096, {.entry_bytes = 8192, .reach_bytes = 16384}, {.from_middle = true});
  EXPECT_THAT(order, ElementsAre(4, 6, 0, 2, 5, 7, 1, 3, 12, 14, 8, 10, 13, 15, 9, 11));
  EXPECT_THAT(past_nearer(ascending(8), 4096, {.entry_bytes = 8192, .reach_bytes = 16384}, {.from_middle = true}),
              ElementsAre(0, 2, 4, 6, 1, 3, 5, 7))
      << "of one window the next pass would begin where the last ended";
  const NearerTlb four_of_four{.entry_bytes = 4 * 4096, .reach_bytes = 16.0 * 4096};
  const std::vector<std::uint32_t> uneven = past_nearer(ascending(70), 4096, four_of_four, {.from_middle = true});
  for (std::size_t i = 1; i < uneven.size(); ++i) {
    EXPECT_GE(std::max(uneven[i - 1], uneven[i]) - std::min(uneven[i - 1], uneven[i]), 4u) << i;
  }
}

TEST(PageOrder, GoesThroughMoreEntriesThanTheLevelHas) {
  constexpr std::uint32_t kBlocks = 960;
  constexpr std::uint32_t kOfEntry = 8;
  constexpr std::size_t kEntries = 5;
  const std::vector<std::uint32_t> order = past_nearer(
      ascending(kBlocks), 4096, {.entry_bytes = 4096 * kOfEntry, .reach_bytes = 4096.0 * kOfEntry * kEntries});
  std::vector<std::uint32_t> sorted = order;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, ascending(kBlocks)) << "each of them once";
  for (std::size_t i = 0; i + kEntries < order.size(); ++i) {
    std::set<std::uint32_t> entries;
    for (std::size_t j = i; j <= i + kEntries; ++j) entries.insert(order[j] / kOfEntry);
    EXPECT_GT(entries.size(), kEntries) << "from block " << i << " on, an entry is used again while it is there";
  }
}

TEST(PageOrder, FromBothHalvesInTurns) {
  EXPECT_THAT(interleave_halves(6), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(interleave_halves(5), ElementsAre(0, 3, 1, 4, 2));
  EXPECT_THAT(interleave_halves(1), ElementsAre(0));
  EXPECT_THAT(interleave_halves(0), IsEmpty());
}

}  // namespace
}  // namespace gputopo::probe
