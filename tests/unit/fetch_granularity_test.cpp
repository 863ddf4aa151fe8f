#include "probe/survey/fetch_granularity.h"

#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

std::vector<std::uint32_t> cold_pass(std::uint64_t granularity) {
  std::vector<std::uint32_t> latencies;
  for (std::uint64_t offset = 0; offset < 4096; offset += 16) latencies.push_back(offset % granularity == 0 ? 500 : 40);
  return latencies;
}

TEST(FetchGranularity, IsThePeriodOfTheMisses) {
  for (const std::uint64_t granularity : {16, 32, 64, 128, 256, 512}) {
    const std::vector<std::vector<std::uint32_t>> passes(3, cold_pass(granularity));
    const FetchGranularity found = fetch_granularity_of(passes, 16, 100, 512);
    EXPECT_EQ(found.bytes, granularity);
    EXPECT_DOUBLE_EQ(found.agreement, 1);
    EXPECT_LT(found.runner_up, 1);
  }
}

TEST(FetchGranularity, OnePassThatWasDisturbedIsOutvoted) {
  std::vector<std::vector<std::uint32_t>> passes(3, cold_pass(64));
  for (std::uint32_t& latency : passes[1]) latency = 500;
  EXPECT_EQ(fetch_granularity_of(passes, 16, 100, 512).bytes, 64u);
}

TEST(FetchGranularity, NoPatternAgreesWithNothing) {
  std::vector<std::vector<std::uint32_t>> passes(1);
  for (int i = 0; i < 256; ++i) passes[0].push_back(i * i % 7 < 3 ? 500 : 40);
  EXPECT_LT(fetch_granularity_of(passes, 16, 100, 512).agreement, 0.9);
}

TEST(FetchGranularity, AllEqualOrNothingNamesNoSize) {
  const std::vector<std::vector<std::uint32_t>> all_hit(3, std::vector<std::uint32_t>(256, 40));
  EXPECT_LT(fetch_granularity_of(all_hit, 16, 100, 512).agreement, 0.9);
  const std::vector<std::vector<std::uint32_t>> all_miss(3, std::vector<std::uint32_t>(256, 500));
  EXPECT_EQ(fetch_granularity_of(all_miss, 16, 100, 512).bytes, 16u) << "each load brings no more than its stride";
  EXPECT_EQ(fetch_granularity_of({}, 16, 100, 512).bytes, 0u);
  const std::vector<std::vector<std::uint32_t>> one_load(1, {500});
  EXPECT_EQ(fetch_granularity_of(one_load, 16, 100, 512).agreement, 0) << "the first load does not count";
}

TEST(FetchGranularity, AFewOutliersAreAgreedWith) {
  std::vector<std::vector<std::uint32_t>> passes(1, cold_pass(64));
  for (const std::size_t slow : {5u, 77u, 130u}) passes[0][slow] = 500;
  const FetchGranularity found = fetch_granularity_of(passes, 16, 100, 512);
  EXPECT_EQ(found.bytes, 64u);
  EXPECT_GT(found.agreement, 0.95);
  EXPECT_LT(found.agreement, 1);
}

// `count` loads at each of these latencies (cycles), in bins of 2.
stats::Histogram loads_at(std::uint32_t count, std::initializer_list<std::size_t> cycles) {
  stats::Histogram histogram(256);
  for (const std::size_t one : cycles) histogram[one / 2] += count;
  return histogram;
}

// All 64 KiB of constants fit the L1.5 (74 cycles), so farther levels show in first loads only. There, loads also hit
// lines that an earlier miss brought into L2 (90 cycles).
TEST(FetchGranularity, HitsOfALevelThatNothingExceedsEndAboveIts) {
  const stats::Level level{60, 180, 74};
  const std::vector<stats::Histogram> all_fit = {loads_at(100, {48}), loads_at(100, {48, 72, 74, 74, 74, 76})};
  EXPECT_GT(hit_limit_in_cold_pass(all_fit, level), 77);
  EXPECT_LT(hit_limit_in_cold_pass(all_fit, level), 85);
  const std::vector<stats::Histogram> exceeded = {loads_at(100, {48, 74, 74, 90})};
  const stats::Level is_distinguishable{60, 82, 74};
  EXPECT_EQ(hit_limit_in_cold_pass(exceeded, is_distinguishable), 82);
  EXPECT_EQ(hit_limit_in_cold_pass({}, level), 180);
}

// Texture loads hit at 78 cycles. At 94 cycles they hit L2, which fetches four times as much at once.
TEST(FetchGranularity, IsTheNearestLevelsWhereTheNextIsHardlyFarther) {
  const double limit = hit_limit_in_cold_pass({{loads_at(1000, {78, 78, 78, 80})}}, {.high_cycles = 97});
  std::vector<std::uint32_t> pass;
  for (std::uint32_t offset = 0; offset < 4096; offset += 16) {
    pass.push_back(offset % 256 == 0 ? 138 : offset % 64 == 0 ? 94 : 78);
  }
  const std::vector<std::vector<std::uint32_t>> passes(5, pass);
  EXPECT_EQ(fetch_granularity_of(passes, 16, limit, 512).bytes, 64u);
  EXPECT_EQ(fetch_granularity_of(passes, 16, 97, 512).bytes, 256u);
}

}  // namespace
}  // namespace gputopo::probe
