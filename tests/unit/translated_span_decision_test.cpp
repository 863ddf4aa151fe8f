// How much memory loads can be spread over without waiting for translations.
#include "probe/translated_span_decision.h"

#include <gtest/gtest.h>

#include <vector>

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(TranslatedSpan, IsTheLargestWhereNoneHasMisses) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMiB, 0.1}, {4 * kMiB, 0.3}, {16 * kMiB, -0.2}}, 0.1), 16 * kMiB);
}

TEST(TranslatedSpan, LeavesRoomWhereALargerOneHasMisses) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMiB, 0.1}, {4 * kMiB, 0.3}, {16 * kMiB, 40}}, 0.1), 2 * kMiB);
}

// What a larger span shows does not matter: its lines may not have stayed in L2, or chance was kind.
TEST(TranslatedSpan, EndsAtTheFirstThatHasMisses) {
  EXPECT_EQ(translated_bytes(std::vector<SpanLoads>{{kMiB, 0.1}, {4 * kMiB, 9}, {16 * kMiB, 0}}, 0), kMiB / 2);
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
