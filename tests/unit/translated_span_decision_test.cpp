// How much memory loads can be spread over without waiting for translations.
#include "probe/translated_span_decision.h"

#include <gtest/gtest.h>

#include <vector>

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(TranslatedSpan, IsHalfOfTheLargestWithoutMisses) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMiB, 0.1}, {4 * kMiB, 0.3}, {16 * kMiB, -0.2}}, 0.1), 8 * kMiB);
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMiB, 0.1}, {4 * kMiB, 0.3}, {16 * kMiB, 40}}, 0.1), 2 * kMiB);
}

TEST(TranslatedSpan, IsTheSmallestWhereAllOthersHaveMisses) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMiB, 0.1}, {4 * kMiB, 60}}, 0), kMiB);
}

// Lines that meet in a set of L2 miss there; a TLB whose entries 16 MiB need no more of has enough of them for 4.
TEST(TranslatedSpan, IsNotEndedByWhatALargerOneDoesNotShow) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMiB, 0.1}, {4 * kMiB, 9}, {16 * kMiB, 0}}, 0), 8 * kMiB);
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMiB, 0.1}, {4 * kMiB, 9}, {16 * kMiB, 0}, {64 * kMiB, 40}}, 0),
            8 * kMiB);
}

TEST(TranslatedSpan, IsNoneWhereEvenTheSmallestHasMisses) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMiB, 60}, {4 * kMiB, 80}}, 0), 0u);
  EXPECT_EQ(translated_bytes({}, 0), 0u);
}

TEST(TranslatedSpan, AllowsForWhatThePairsOfOnePageDifferBy) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMiB, 5.5}}, 5), kMiB);
}

}  // namespace
}  // namespace gputopo::probe
