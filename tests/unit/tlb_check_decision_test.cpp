// Evidence against a TLB level.
#include <gtest/gtest.h>

#include "gputopo/program.h"
#include "probe/tlb/check_decision.h"

namespace gputopo::probe {
namespace {

TEST(TlbSmallestBlock, IsAnEntryWherePagesCountAsThatWould) {
  EXPECT_FALSE(may_be_smaller({.at_step = 0.9, .at_half_stride = 0, .beyond = 1, .at_odd_stride = 1}));
  EXPECT_FALSE(may_be_smaller({.at_step = 0.3, .at_half_stride = 0.02, .beyond = 0.5, .at_odd_stride = 0.4}));
}

TEST(TlbSmallestBlock, IsNoneWhereAsManyPagesMissHalfAsFarApart) {
  EXPECT_TRUE(may_be_smaller({.at_step = 0.3, .at_half_stride = 0.3, .beyond = 1, .at_odd_stride = 1}));
}

TEST(TlbSmallestBlock, IsNoneWhereOnlyPagesAPowerOfTwoApartMiss) {
  EXPECT_TRUE(may_be_smaller({.at_step = 0.9, .at_half_stride = 0, .beyond = 1, .at_odd_stride = 0.02}));
}

TEST(TlbSmallestBlock, IsNotDoubtedWhereNoPagesBeyondCouldBeLoaded) {
  EXPECT_FALSE(may_be_smaller({.at_step = 0.9, .at_half_stride = 0}));
}

stats::Histogram paired_loads(std::uint32_t quick, std::uint32_t slow, double slow_cycles) {
  stats::Histogram histogram(kHistogramBins);
  const auto bin = [](double cycles) {
    return static_cast<std::size_t>((cycles + kPairedZeroCycles) / kHistogramBinCycles);
  };
  histogram[bin(0)] = quick;
  histogram[bin(slow_cycles)] = slow;
  return histogram;
}

TEST(TlbHiddenMisses, AreThoseOfLinesThatMissTheCache) {
  const MissSignature signature{.before_cycles = 0, .rise_cycles = 70};
  EXPECT_TRUE(cache_hides_misses(paired_loads(10, 990, 200), signature));
  EXPECT_FALSE(cache_hides_misses(paired_loads(10, 990, 70), signature)) << "misses of the level";
  EXPECT_FALSE(cache_hides_misses(paired_loads(950, 50, 200), signature)) << "outliers";
}

TEST(TlbHiddenMisses, OfALevelWhoseMissesCostLittleWaitAsLongAsAnyCacheMiss) {
  const MissSignature signature{.before_cycles = 0, .rise_cycles = 8};
  EXPECT_FALSE(cache_hides_misses(paired_loads(500, 500, 30), signature)) << "far from the lines";
  EXPECT_TRUE(cache_hides_misses(paired_loads(500, 500, 120), signature));
}

TEST(TlbLines, MissTheCacheWhereOthersOfThePageWait) {
  const MissSignature signature{.rise_cycles = 300};
  EXPECT_TRUE(lines_miss_cache({.companions_wait_cycles = 25}, signature));
  EXPECT_FALSE(lines_miss_cache({.companions_wait_cycles = 14}, signature));
  EXPECT_FALSE(lines_miss_cache({.companions_wait_cycles = 3}, {.rise_cycles = 10}));
}

TEST(TlbRiseAndMisses, DifferWhereLinesMissTheCacheAtTheStep) {
  const MissSignature signature{.before_cycles = 0, .rise_cycles = 480};
  EXPECT_TRUE(rose_by_more_than_misses({.pages = 0.58, .pages_wait_cycles = 150}, signature));
  EXPECT_FALSE(rose_by_more_than_misses({.pages = 0.58, .pages_wait_cycles = 270}, signature));
  EXPECT_FALSE(rose_by_more_than_misses({.pages = 0.1, .pages_wait_cycles = 20}, signature)) << "too few to tell";
}

}  // namespace
}  // namespace gputopo::probe
