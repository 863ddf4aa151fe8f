// From loads that hit one level to its latency.
#include <gtest/gtest.h>

#include <vector>

#include "gputopo/program.h"
#include "probe/bench/intervals.h"
#include "probe/latency/level_decision.h"
#include "probe/survey/band_latency_decision.h"

namespace gputopo::probe {
namespace {

// The given number of loads at each latency.
stats::Histogram loads_of(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& counts) {
  stats::Histogram histogram(kHistogramBins);
  for (const auto& [cycles, count] : counts) histogram[cycles / kHistogramBinCycles] += count;
  return histogram;
}

constexpr LatencyBand kL2{200, 400};

TEST(FootprintFor, HasMostLoadsInTheBand) {
  const std::vector<stats::Histogram> sweep = {loads_of({{30, 100}}), loads_of({{30, 50}, {270, 50}}),
                                               loads_of({{30, 5}, {270, 95}}), loads_of({{270, 20}, {600, 80}})};
  EXPECT_EQ(footprint_for(sweep, kL2), 2u);
  EXPECT_EQ(footprint_for(sweep, {0, 200}), 0u);
}

// Chooses the smallest of footprints that are about as good, because larger ones lie nearer the edge of the level.
TEST(FootprintFor, IsTheFirstOfThoseThatAreAboutAsGood) {
  const std::vector<stats::Histogram> sweep = {loads_of({{30, 10}, {270, 90}}), loads_of({{30, 9}, {270, 91}}),
                                               loads_of({{270, 100}})};
  EXPECT_EQ(footprint_for(sweep, kL2), 2u);
  EXPECT_EQ(footprint_for(sweep, kL2, {.clearly_more = 0.2}), 0u);
}

// On a ramp, steps that are each less than clearly more do not move the choice upwards.
TEST(FootprintFor, OfARamp) {
  std::vector<stats::Histogram> sweep;
  for (std::uint32_t more = 0; more < 6; ++more) sweep.push_back(loads_of({{30, 50 - more}, {270, 50 + more}}));
  EXPECT_EQ(footprint_for(sweep, kL2), 3u);  // 53% exceeds 50% by more than 2%
}

TEST(FootprintFor, OfNothing) {
  EXPECT_EQ(footprint_for({}, kL2), std::nullopt);
  const std::vector<stats::Histogram> none_in_band = {loads_of({{30, 10}}), loads_of({{700, 10}})};
  EXPECT_EQ(footprint_for(none_in_band, kL2), 0u);
}

TEST(MeanLatency, IsTheMedianCopyAndNoSurerThanTheClock) {
  const std::vector<double> equal(5, 200);
  const MeanLatency found = mean_latency(equal);
  EXPECT_DOUBLE_EQ(found.cycles, 200);
  EXPECT_DOUBLE_EQ(found.interval.low, 200 - 1.25);
  EXPECT_DOUBLE_EQ(found.interval.high, 200 + 1.25);
  const std::vector<double> one = {200};
  EXPECT_DOUBLE_EQ(mean_latency(one).interval.low, 200 - 1.25);
}

TEST(PossibleLatency, IsNoneThatNoLoadCanTake) {
  EXPECT_FALSE(is_possible_latency(3));
  EXPECT_FALSE(is_possible_latency(0));
  EXPECT_FALSE(is_possible_latency(-40));
  EXPECT_TRUE(is_possible_latency(12));
}

TEST(MeanLatency, IsNotMovedByADisturbedCopy) {
  const std::vector<double> copies = {200, 201, 199, 200, 260};
  const MeanLatency found = mean_latency(copies);
  EXPECT_DOUBLE_EQ(found.cycles, 200);
  EXPECT_GT(found.interval.high, 230) << "but it is less sure";
}

TEST(DistributionOf, HasTheTimersCostTakenOff) {
  const auto found = distribution_of(loads_of({{40, 50}, {250, 20}, {300, 60}, {390, 20}, {900, 50}}), kL2, 20);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->least_cycles, 230.5);  // center of a bin of two cycles
  EXPECT_DOUBLE_EQ(found->p50_cycles, 280.5);
  EXPECT_DOUBLE_EQ(found->p95_cycles, 370.5);
  EXPECT_DOUBLE_EQ(found->most_cycles, 370.5);
  EXPECT_NEAR(found->deviation_cycles, 45, 1);
}

TEST(DistributionOf, OneLatencyAndOfNone) {
  const auto one = distribution_of(loads_of({{300, 1}}), kL2, 0);
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->least_cycles, one->most_cycles);
  EXPECT_DOUBLE_EQ(one->deviation_cycles, 0);
  EXPECT_EQ(distribution_of(loads_of({{30, 100}, {700, 100}}), kL2, 0), std::nullopt);
  EXPECT_EQ(distribution_of({}, kL2, 0), std::nullopt);
}

// Two levels that touch: the end of the band belongs to the farther one.
TEST(DistributionOf, EndsBeforeTheBandsEnd) {
  const auto found = distribution_of(loads_of({{398, 10}, {400, 10}}), kL2, 0);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->most_cycles, 398.5);
}

constexpr std::uint32_t kNoMore = kPairedZeroCycles;
std::vector<stats::Histogram> several(std::vector<stats::Histogram> histograms) { return histograms; }

TEST(Latencies, AreNotToldOfLoadsInTheLastBin) {
  constexpr std::uint32_t kLast = (kHistogramBins - 1) * kHistogramBinCycles;
  EXPECT_TRUE(are_resolved(loads_of({{270, 100}}), {0, 1e9}));
  EXPECT_TRUE(are_resolved(loads_of({{270, 99}, {kLast, 1}}), {0, 1e9}));
  EXPECT_FALSE(are_resolved(loads_of({{270, 90}, {kLast, 10}}), {0, 1e9}));
  EXPECT_FALSE(are_resolved(loads_of({{270, 99}, {kLast, 1}}), {1000, 1e9}));
  EXPECT_TRUE(are_resolved(loads_of({{270, 90}, {kLast, 10}}), kL2));
  EXPECT_TRUE(are_resolved({0, 0, 1}, {0, 1e9}));
}

// Half of the lines are near at both loads; the other half is far at the first load, by 170 to 190 cycles.
TEST(FarLatency, IsWhatFarFirstLoadsTakeMore) {
  const stats::Histogram more =
      loads_of({{kNoMore - 4, 50}, {kNoMore + 4, 50}, {kNoMore + 170, 50}, {kNoMore + 190, 50}});
  const auto far = far_latency({280, {275, 285}}, several({more, more}), 240);
  ASSERT_TRUE(far);
  EXPECT_NEAR(far->cycles, 460, 2) << "however far it was thought to be";
  EXPECT_LE(far->interval.low, 460 - 5 - 0.04 * 180);
  EXPECT_GE(far->interval.high, 460 + 5 + 0.04 * 180);
}

TEST(FarLatency, OfOutliersAndOfNothing) {
  stats::Histogram more = loads_of({{kNoMore, 100}, {kNoMore + 100, 100}, {kNoMore + 600, 1}});
  EXPECT_NEAR(far_latency({200, {199, 201}}, several({more}), 100)->cycles, 300, 2);
  EXPECT_FALSE(far_latency({200, {199, 201}}, several({loads_of({{kNoMore, 100}})}), 100)) << "nothing is far";
  EXPECT_FALSE(far_latency({200, {199, 201}}, {}, 100));
  EXPECT_NEAR(far_latency({200, {199, 201}}, several({loads_of({{kNoMore + 100, 100}})}), 100)->cycles, 300, 2)
      << "all of it is";
}

TEST(MissPenalty, IsWhatAMissTakesMore) {
  const std::vector<double> misses = {280, 281, 279, 280, 280};
  const MeanLatency found = miss_penalty(misses, {33});
  EXPECT_DOUBLE_EQ(found.cycles, 247);
  EXPECT_DOUBLE_EQ(found.interval.low, 246) << "no surer than a cycle";
  EXPECT_DOUBLE_EQ(found.interval.high, 248);
}

TEST(MissPenalty, IsAsUnsureAsTheMisses) {
  const std::vector<double> misses = {260, 300, 280, 250, 310};
  const MeanLatency found = miss_penalty(misses, {33});
  EXPECT_DOUBLE_EQ(found.cycles, 247);
  EXPECT_LT(found.interval.low, 220);
  const std::vector<double> one = {280};
  EXPECT_DOUBLE_EQ(miss_penalty(one, {33}, {.least_margin_cycles = 2}).interval.high, 249);
}

// Clock drift moves hits as much as misses.
TEST(MissPenalty, IsAsUnsureAsTheHits) {
  const std::vector<double> misses = {280, 281, 279, 280, 280};
  const MeanLatency found = miss_penalty(misses, {33, 3});
  EXPECT_NEAR(found.interval.low, 244, 0.5);
  EXPECT_NEAR(found.interval.high, 250, 0.5);
}

TEST(Intervals, KeepRoomForWhatCopiesHaveInCommon) {
  const std::vector<double> equal(9, 10);
  EXPECT_DOUBLE_EQ(interval_around(equal, 10).low, 9.95);
  EXPECT_DOUBLE_EQ(timing_interval(equal, 10).low, 9.75);
  EXPECT_DOUBLE_EQ(timing_interval(std::vector<double>(9, 1000), 1000).low, 995);
  // Around a value other than the mean.
  EXPECT_DOUBLE_EQ(interval_around(equal, 12).high, 12.06);
  EXPECT_DOUBLE_EQ(interval_around(equal, 12).low, 10);
}

}  // namespace
}  // namespace gputopo::probe
