// The write policy of a cache, from the lines found after stores and from the bandwidth that remains beside them.
#include "probe/bandwidth/write_policy_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "gputopo/device.h"
#include "probe/bandwidth/write_policy.h"

namespace gputopo::probe {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(PartOfLines, IsByTheFirstLoadOfEach) {
  // Four lines of two loads: the second load of a line always hits.
  const std::vector<std::uint32_t> latencies = {30, 30, 300, 30, 31, 30, 290, 30};
  EXPECT_DOUBLE_EQ(part_of_lines(latencies, 2, 100), 0.5);
  EXPECT_DOUBLE_EQ(part_of_lines(latencies, 1, 100), 0.75);
  EXPECT_DOUBLE_EQ(part_of_lines(latencies, 2, 30), 0) << "at the limit it is a miss";
}

TEST(StoreHits, OfLinesThatAreThereWhole) {
  const std::vector<std::uint32_t> latencies = {30, 90, 40, 90, 30, 90, 200, 90};
  EXPECT_DOUBLE_EQ(part_of_whole_lines(latencies, 4, 2, 100), 0.5) << "of the second the latter half is missing";
  EXPECT_DOUBLE_EQ(part_of_whole_lines(latencies, 4, 4, 100), 1);
  EXPECT_DOUBLE_EQ(part_of_whole_lines(latencies, 4, 1, 50), 0);
}

// A tenth of cold loads look like hits, so the true misses are the observed ones over 0.9.
TEST(PartOfLines, AllowsForMissesThatLookLikeHits) {
  const std::vector<std::uint32_t> latencies = {30, 300, 300, 300, 300, 300, 300, 300, 300, 300};
  EXPECT_DOUBLE_EQ(part_of_lines(latencies, 1, 100, 0.9), 0);
  EXPECT_DOUBLE_EQ(part_of_lines(latencies, 1, 100, 0.5), 0) << "no less than nothing";
  const std::vector<std::uint32_t> hits = {30, 30, 30};
  EXPECT_DOUBLE_EQ(part_of_lines(hits, 1, 100, 0), 1);
  EXPECT_DOUBLE_EQ(part_of_lines(latencies, 1, 100, 0), 0) << "where no miss can be told";
}

// A near line and a far line with two loads each: each line is compared with its own latency from memory.
TEST(PartQuicker, ComparesALineWithItself) {
  const std::vector<std::uint32_t> cold = {530, 30, 760, 30};
  EXPECT_DOUBLE_EQ(part_quicker(std::vector<std::uint32_t>{284, 30, 460, 30}, cold, 2, 0.8), 1);
  EXPECT_DOUBLE_EQ(part_quicker(std::vector<std::uint32_t>{540, 30, 740, 30}, cold, 2, 0.8), 0);
  EXPECT_DOUBLE_EQ(part_quicker(std::vector<std::uint32_t>{284, 30, 740, 30}, cold, 2, 0.8), 0.5);
}

TEST(WriteAllocate, FollowsFromWhereTheStoredLinesAre) {
  const auto passes = decide_allocation({.unstored = 0, .stored = 0.05, .stored_again = 1});
  ASSERT_TRUE(passes.value);
  EXPECT_FALSE(passes.value->allocates);
  EXPECT_EQ(passes.value->keeps_hits, true);
  const auto keeps = decide_allocation({.unstored = 0.1, .stored = 0.9, .stored_again = 0.1});
  ASSERT_TRUE(keeps.value);
  EXPECT_TRUE(keeps.value->allocates);
  EXPECT_EQ(keeps.value->keeps_hits, false);
  EXPECT_THAT(keeps.basis, HasSubstr("10% for lines never written, 90% for lines written while absent"));
}

TEST(WriteAllocate, SaysNothingOfHalves) {
  const auto half_kept = decide_allocation({.unstored = 0, .stored = 1, .stored_again = 0.5});
  ASSERT_TRUE(half_kept.value);
  EXPECT_EQ(half_kept.value->keeps_hits, std::nullopt);
  const auto half_stored = decide_allocation({.unstored = 0, .stored = 0.5, .stored_again = 1});
  EXPECT_FALSE(half_stored.value);
  EXPECT_THAT(half_stored.why_not, HasSubstr("50% of the written lines"));
  const auto unstored = decide_allocation({.unstored = 0.4, .stored = 1, .stored_again = 1});
  EXPECT_FALSE(unstored.value);
  EXPECT_THAT(unstored.why_not, HasSubstr("40% of the lines that were never written"));
}

TEST(WriteAllocate, TakesWhatIsNearlyAllFromItsParameters) {
  EXPECT_FALSE(decide_allocation({.stored = 0.7}).value);
  EXPECT_TRUE(decide_allocation({.stored = 0.7}, {.nearly_all = 0.6}).value);
}

TEST(WritePolicy, FollowsFromWhatReachesL2) {
  EXPECT_EQ(decide_passing_on({.in_l1 = 1, .unstored = 0, .stored_in_l2 = 0.95}).value, WritePolicy::kWriteThrough);
  EXPECT_EQ(decide_passing_on({.in_l1 = 0.9, .unstored = 0.1, .stored_in_l2 = 0.1}).value, WritePolicy::kWriteBack);
}

TEST(WritePolicy, NeedsLinesThatOnlyL1Holds) {
  const auto gone = decide_passing_on({.in_l1 = 0.3, .stored_in_l2 = 1});
  EXPECT_FALSE(gone.value);
  EXPECT_THAT(gone.why_not, HasSubstr("30% of the lines are still in L1"));
  const auto kept_by_l2 = decide_passing_on({.in_l1 = 1, .unstored = 1, .stored_in_l2 = 1});
  EXPECT_FALSE(kept_by_l2.value);
  EXPECT_THAT(kept_by_l2.why_not, HasSubstr("100% of the lines that were never written"));
  const auto half = decide_passing_on({.in_l1 = 1, .stored_in_l2 = 0.5});
  EXPECT_FALSE(half.value);
  EXPECT_THAT(half.why_not, HasSubstr("too few for write-through"));
}

constexpr double kUnknownPeak = 0;

TEST(WritePolicyBesideReads, IsWhatReadsLoseToWritesThatCouldStay) {
  const ReadRates back{.alone = 1000e9, .with_memory_writes = 500e9, .with_cache_writes = 900e9, .in_cache = 4000e9};
  EXPECT_EQ(policy_by_read_interference(back, kUnknownPeak).value, WritePolicy::kWriteBack);
  const ReadRates through{.alone = 1000e9, .with_memory_writes = 500e9, .with_cache_writes = 520e9, .in_cache = 4000e9};
  EXPECT_EQ(policy_by_read_interference(through, kUnknownPeak).value, WritePolicy::kWriteThrough);
}

// A cache that copies no faster than memory is judged by the rate that it could reach at best.
TEST(WritePolicyBesideReads, IsMeasuredByWhatTheCacheCanTake) {
  const ReadRates rates{.alone = 1000e9, .with_memory_writes = 500e9, .with_cache_writes = 700e9, .in_cache = 800e9};
  EXPECT_EQ(policy_by_read_interference(rates, kUnknownPeak).value, WritePolicy::kWriteBack);     // 2/3
  EXPECT_FALSE(policy_by_read_interference({1000e9, 500e9, 700e9, 4000e9}, kUnknownPeak).value);  // 2/5
}

TEST(WritePolicyBesideReads, SaysNothingBetweenTheTwo) {
  const auto between = policy_by_read_interference({1000e9, 500e9, 675e9, 4000e9}, kUnknownPeak);
  EXPECT_FALSE(between.value);
  EXPECT_THAT(between.why_not, HasSubstr("65% as much as writes to memory"));
}

TEST(WritePolicyBesideReads, NeedsWritesToMemoryThatSlowReads) {
  for (const ReadRates& rates : {ReadRates{1000e9, 950e9, 960e9, 4000e9},
                                 {1000e9, 1100e9, 900e9, 4000e9},
                                 {1000e9, 1000e9, 1000e9, 1000e9},
                                 {}}) {
    const auto decision = policy_by_read_interference(rates, kUnknownPeak);
    EXPECT_FALSE(decision.value);
    EXPECT_THAT(decision.why_not, HasSubstr("hardly slow reads"));
  }
}

TEST(WritePolicyBesideReads, IsProvenByMoreThanMemoryCanMove) {
  const ReadRates rates{.alone = 1000e9, .with_memory_writes = 500e9, .with_cache_writes = 600e9, .in_cache = 4000e9};
  EXPECT_EQ(policy_by_read_interference(rates, 1100e9).value, WritePolicy::kWriteBack);  // 1200 of 1100
  EXPECT_EQ(policy_by_read_interference(rates, 1190e9).value, WritePolicy::kWriteThrough) << "too close to be a proof";
}

TEST(WritePolicyByBandwidth, IsProvenByBandwidthThatMemoryDoesNotHave) {
  EXPECT_EQ(policy_by_bandwidth(3e12, 2e12).value, WritePolicy::kWriteBack);
  const auto too_little = policy_by_bandwidth(2.2e12, 2e12);
  EXPECT_FALSE(too_little.value);
  EXPECT_THAT(too_little.why_not, HasSubstr("1.10 times"));
  EXPECT_FALSE(policy_by_bandwidth(1e12, 2e12).value);
  EXPECT_FALSE(policy_by_bandwidth(1e12, 0).value) << "nothing is known of what is behind";
}

TEST(WritePolicyByBandwidth, IsAnAttributeWithTheRatio) {
  const Attribute attribute = write_policy_by_bandwidth(3e12, 2e12);
  EXPECT_EQ(attribute.value, Value(std::string("write_back")));
  EXPECT_EQ(attribute.source, Source::kInferred);
  EXPECT_EQ(*attribute.find_detail("times_memory_bandwidth"), Value(1.5));
  EXPECT_THAT([] { static_cast<void>(write_policy_by_bandwidth(2.2e12, 2e12)); },
              ThrowsMessage<NotSupportedError>(HasSubstr("1.10 times")));
}

}  // namespace
}  // namespace gputopo::probe
