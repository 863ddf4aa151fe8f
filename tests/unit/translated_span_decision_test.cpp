// The largest memory over which loads can be spread without waiting for translations.
#include "probe/tlb/translated_span_decision.h"

#include <gtest/gtest.h>

#include <vector>

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

TEST(TranslatedSpan, IsHalfOfTheLargestWithoutMisses) {
  EXPECT_EQ(
      translated_bytes(std::vector<SpanLoads>{{kMebibyte, 0.1}, {4 * kMebibyte, 0.3}, {16 * kMebibyte, -0.2}}, 0.1),
      8 * kMebibyte);
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMebibyte, 0.1}, {4 * kMebibyte, 0.3}, {16 * kMebibyte, 40}}, 0.1),
            2 * kMebibyte);
}

TEST(TranslatedSpan, IsTheSmallestWhereAllOthersHaveMisses) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMebibyte, 0.1}, {4 * kMebibyte, 60}}, 0), kMebibyte);
}

// A TLB with enough entries for 16 MiB has enough for 4 MiB, so the misses at 4 MiB come from lines in one L2 set.
TEST(TranslatedSpan, IsNotEndedByWhatALargerOneDoesNotShow) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMebibyte, 0.1}, {4 * kMebibyte, 9}, {16 * kMebibyte, 0}}, 0),
            8 * kMebibyte);
  EXPECT_EQ(
      translated_bytes(
          std::vector<SpanLoads>{{kMebibyte, 0.1}, {4 * kMebibyte, 9}, {16 * kMebibyte, 0}, {64 * kMebibyte, 40}}, 0),
      8 * kMebibyte);
}

TEST(TranslatedSpan, IsNoneWhereEvenTheSmallestHasMisses) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMebibyte, 60}, {4 * kMebibyte, 80}}, 0), 0u);
  EXPECT_EQ(translated_bytes({}, 0), 0u);
}

TEST(TranslatedSpan, AllowsForWhatThePairsOfOnePageDifferBy) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMebibyte, 5.5}}, 5), kMebibyte);
}

}  // namespace
}  // namespace gputopo::probe
