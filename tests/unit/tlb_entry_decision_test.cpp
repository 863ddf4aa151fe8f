// The bytes that an entry covers, from misses of blocks touched in models of TLBs.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "probe/tlb/entry_decision.h"
#include "support/tlb_model.h"

namespace gputopo::probe {
namespace {

using truth::Replaced;
using truth::TlbModel;

// Blocks from 4 KiB on within 1.6 times the reach, as the probe touches them.
std::vector<TouchedBlocks> touched_in(const TlbModel& tlb, std::uint64_t page, std::uint64_t begin = 0,
                                      double noise = 0) {
  const auto span = static_cast<std::uint64_t>(1.6 * static_cast<double>(tlb.entries() * page));
  std::mt19937_64 random(11);
  std::normal_distribution<double> error(0, 1);
  std::vector<TouchedBlocks> found;
  for (std::uint64_t bytes = std::bit_floor(span / 2); bytes >= 4096 && !are_within_page(found); bytes /= 2) {
    TouchedBlocks& blocks = found.emplace_back(TouchedBlocks{.bytes = bytes});
    std::vector<std::uint64_t>& places = blocks.places_bytes.emplace_back();
    std::vector<std::uint64_t> pages;
    for (std::uint64_t first = 0; first + bytes <= span; first += bytes) {
      places.push_back(first + random() % bytes / 128 * 128);
      pages.push_back((begin + places.back()) / page);
    }
    blocks.missed = std::max(0.0, tlb.missed(pages) / static_cast<double>(pages.size()) + noise * error(random));
  }
  std::ranges::reverse(found);
  return up_to_fitting(std::move(found));
}

std::uint64_t entry_in(const TlbModel& tlb, std::uint64_t page, std::uint64_t begin = 0, double noise = 0) {
  const TlbEntryFound found =
      find_tlb_entry(touched_in(tlb, page, begin, noise), static_cast<double>(tlb.entries() * page), 3 * noise);
  EXPECT_FALSE(found.why.empty());
  return found.bytes;
}

TEST(TlbEntry, IsThePageThatTwoHalvesShare) {
  for (const std::uint64_t page : {8u << 10, 64u << 10, 512u << 10}) {
    EXPECT_EQ(entry_in(TlbModel::even(1, 32), page), page);
    EXPECT_EQ(entry_in(TlbModel::even(1, 16), page), page);
  }
}

TEST(TlbEntry, IsWhatExplainsTheMissesOfSets) {
  constexpr std::uint64_t kPage = 64 << 10;
  EXPECT_EQ(entry_in(TlbModel::even(2, 16), kPage), kPage);
  EXPECT_EQ(entry_in(TlbModel::even(16, 4), kPage), kPage);
  EXPECT_EQ(entry_in(TlbModel::even(64, 2), kPage), kPage);
}

TEST(TlbEntry, IsFoundWhereTheArrayBeginsWithinAPage) {
  constexpr std::uint64_t kPage = 64 << 10;
  EXPECT_EQ(entry_in(TlbModel::even(1, 32), kPage, kPage / 2), kPage);
  EXPECT_EQ(entry_in(TlbModel::even(16, 4), kPage, kPage / 4), kPage);
}

TEST(TlbEntry, IsFoundInNoise) {
  constexpr std::uint64_t kPage = 64 << 10;
  EXPECT_EQ(entry_in(TlbModel::even(1, 32), kPage, 0, 0.02), kPage);
}

TEST(TlbEntry, IsNotToldUnderRandomReplacement) {
  for (const std::uint32_t entries : {16u, 64u, 256u}) {
    EXPECT_EQ(entry_in(TlbModel::even(1, entries, Replaced::kRandom), 64 << 10), 0u) << entries;
  }
}

TEST(TlbEntry, TakesBlocksOfWhichManyMiss) {
  EXPECT_EQ(find_tlb_entry({}, 1 << 20, 0).bytes, 0u);
  const std::vector<TouchedBlocks> quiet = {{4096, {{0, 4096}}, 0.0}, {8192, {{0}}, 0.0}};
  EXPECT_EQ(find_tlb_entry(quiet, 1 << 20, 0).bytes, 0u);
  EXPECT_EQ(find_tlb_entry(quiet, 1 << 20, 0).why, "at every block size, few blocks miss");
}

TEST(TlbEntry, IsNoneWhereEverySizeMissesAlike) {
  std::vector<TouchedBlocks> blocks = touched_in(TlbModel::even(1, 32), 64 << 10);
  for (TouchedBlocks& one : blocks) one.missed = 0.5;
  EXPECT_EQ(find_tlb_entry(blocks, 2 << 20, 0).bytes, 0u);
}

TEST(TlbEntry, ALevelOfOneEntryHasNoPageToTell) {
  const std::vector<TouchedBlocks> blocks = {{4096, {{0, 5000}}, 0.9}};
  EXPECT_EQ(find_tlb_entry(blocks, 4096, 0).bytes, 0u);
}

// No blocks smaller than the entry. Explanations with fewer entries than the level has do not count.
TEST(TlbEntry, IsTheSmallestBlockOfWhichAllMiss) {
  constexpr std::uint64_t kPage = 2 << 20;
  std::vector<TouchedBlocks> blocks = touched_in(TlbModel::even(1, 46), kPage);
  std::erase_if(blocks, [](const TouchedBlocks& one) { return one.bytes < kPage; });
  EXPECT_EQ(find_tlb_entry(blocks, 46.0 * kPage, 0).bytes, kPage);
}

TEST(TlbEntry, IsNoneBelowTheSmallestBlock) {
  constexpr std::uint64_t kPage = 64 << 10;
  std::vector<TouchedBlocks> blocks = touched_in(TlbModel::even(16, 4), kPage);
  std::erase_if(blocks, [](const TouchedBlocks& one) { return one.bytes <= kPage; });
  EXPECT_EQ(find_tlb_entry(blocks, 64.0 * kPage, 0).bytes, 0u);
}

TEST(TlbPageThatHalvesShare, NeedsBlocksOfHalfThePage) {
  const auto of = [](std::vector<double> missed, double error = 0) {
    std::vector<TouchedBlocks> blocks;
    for (std::size_t i = 0; i < missed.size(); ++i) blocks.push_back({std::uint64_t{4096} << i, {}, missed[i]});
    return page_that_halves_share(blocks, error);
  };
  EXPECT_EQ(of({0.25, 0.5, 1.0, 0.05}), 16384u);
  EXPECT_EQ(of({0.25, 0.4, 1.0, 0.05}), 0u);
  EXPECT_EQ(of({0.25, 0.4, 1.0, 0.05}, 0.1), 16384u) << "noise makes as much";
  EXPECT_EQ(of({1.0, 0.5, 0}), 0u) << "halves of the smallest were not touched";
  EXPECT_EQ(of({0.3, 0.35, 0.7}), 0u) << "not nearly all miss";
  EXPECT_EQ(of({0.75, 0.5, 1.0}), 0u) << "quarters miss no more than halves: these met by chance";
  EXPECT_EQ(of({}), 0u);
}

std::vector<TouchedBlocks> blocks_that_miss(const std::vector<double>& missed) {
  std::vector<TouchedBlocks> blocks;
  for (const double one : missed) blocks.push_back({.bytes = 4096, .missed = one});
  return blocks;
}

TEST(TlbBlocks, GoOnUntilManyShareAPage) {
  const auto of = [](const std::vector<double>& missed) { return are_within_page(blocks_that_miss(missed)); };
  EXPECT_TRUE(of({0, 0.4, 1, 0.5, 0.25, 0.12, 0.06}));
  EXPECT_FALSE(of({0, 0.4, 1, 0.5, 0.25, 0.12}));
  EXPECT_FALSE(of({0.4, 0, 0})) << "of a few large blocks one misses by chance";
  EXPECT_FALSE(of({0.4, 0, 0, 0, 0}));
  EXPECT_FALSE(of({0, 0.2, 0.1, 0.05, 0.02, 0.01})) << "too few miss to be a page";
  EXPECT_FALSE(of({0.5, 1}));
  EXPECT_FALSE(of({}));
}

TEST(TlbBlocks, EndWithTwoSizesThatFit) {
  const auto of = [](const std::vector<double>& missed) { return up_to_fitting(blocks_that_miss(missed)).size(); };
  EXPECT_EQ(of({0.1, 0.5, 1, 0.005, 0, 0, 0.5}), 5);
  EXPECT_EQ(of({0.1, 0.5, 1, 0.005}), 4);
  EXPECT_EQ(of({0.1, 0.5, 1, 0.005, 0.05, 0}), 6);
  EXPECT_EQ(of({0, 0, 0, 0.2, 0, 0}), 6) << "small blocks share pages, and hardly any misses";
  EXPECT_EQ(of({}), 0);
}

TEST(TlbExpectedMisses, CountAPageOnceForLoadsInARow) {
  const TouchedBlocks blocks{.bytes = 4096, .places_bytes = {{0, 4096, 8192, 12288}}, .missed = 0};
  EXPECT_EQ(expected_misses(blocks, 4096, 0, 1, 4), 0) << "all fit";
  EXPECT_EQ(expected_misses(blocks, 4096, 0, 1, 3), 1);
  EXPECT_EQ(expected_misses(blocks, 8192, 0, 1, 1), 0.5);
  EXPECT_EQ(expected_misses(blocks, 8192, 4096, 1, 1), 0.75) << "three pages, as it begins in the middle of one";
  EXPECT_EQ(expected_misses(blocks, 4096, 0, 2, 1), 1);
  EXPECT_EQ(expected_misses({.bytes = 4096}, 4096, 0, 1, 1), 0) << "nothing was touched";
}

}  // namespace
}  // namespace gputopo::probe
