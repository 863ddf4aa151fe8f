// Whether elements at a given distance share a line.
#include "probe/capacity/line_size_decision.h"

#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

TEST(LineSize, HalvesOfALineHoldHalfTheBytes) {
  constexpr double kEnough = 16384;
  EXPECT_EQ(are_halves_separate_lines({4096, 4096}, 4096, kEnough), true);
  EXPECT_EQ(are_halves_separate_lines({4032, 4032}, 4096, kEnough), true) << "a place was missed";
  EXPECT_EQ(are_halves_separate_lines({2048, 2048}, 4096, kEnough), false);
  EXPECT_EQ(are_halves_separate_lines({2400, 2400}, 4096, kEnough), false) << "some lines hold both halves by chance";
  EXPECT_EQ(are_halves_separate_lines({0, 0}, 4096, kEnough), false);
}

// A constant cache of 46 KiB: all halves of 64 KiB of constants fit if they are lines.
TEST(LineSize, WhereThereIsNoRoomForMoreAllHalvesFit) {
  EXPECT_EQ(are_halves_separate_lines({32768, 32768}, 47104, 32768), true);
  EXPECT_EQ(are_halves_separate_lines({23552, 23552}, 47104, 32768), false);
  EXPECT_EQ(are_halves_separate_lines({30000, 30000}, 61440, 32768), std::nullopt);
}

// Half of a nearer cache, not walked, held lines that this one had evicted: 7424 B of 10240 seemed to stay.
TEST(LineSize, WhatANearerCacheMayHaveKeptCountsForNeither) {
  constexpr double kEnough = 40960;
  EXPECT_EQ(are_halves_separate_lines({5120, 7424}, 10240, kEnough), false);
  EXPECT_EQ(are_halves_separate_lines({9800, 10240}, 10240, kEnough), true);
  EXPECT_EQ(are_halves_separate_lines({5120, 10000}, 10240, kEnough), std::nullopt);
}

TEST(LineReferences, SmallerOnesFollow) {
  LineReferences references(10'000, 32, 0);
  EXPECT_EQ(references.next_base(), 8992u);
  EXPECT_EQ(references.next_base(), 6976u);
  EXPECT_EQ(references.next_base(), 4992u);
  EXPECT_FALSE(references.next_base());
}

TEST(LineReferences, TwiceOfOneMustFitTheSpace) {
  LineReferences references(10'000, 32, 14'000);
  EXPECT_EQ(references.next_base(), 6976u);
  EXPECT_EQ(LineReferences(50, 32, 0).next_base(), std::nullopt) << "less than two fetches";
}

TEST(LineReferences, TheClearestIsInFront) {
  LineReferences references(10'000, 32, 0);
  EXPECT_FALSE(references.tells()) << "none yet";
  references.add({.bytes = 1, .fitting = 0.3, .exceeding = 0.35});
  EXPECT_FALSE(references.tells());
  references.add({.bytes = 2, .fitting = 0.1, .exceeding = 0.6});
  EXPECT_EQ(references.at(0).bytes, 2u);
  EXPECT_TRUE(references.is_clear());
  references.add({.bytes = 3, .fitting = 0.1, .exceeding = 0.6});
  EXPECT_EQ(references.at(0).bytes, 2u) << "as clear: the larger stays";
  EXPECT_TRUE(references.tells(0));
  EXPECT_FALSE(references.tells(1));
}

TEST(SparseAnswer, TheSurestDecides) {
  const LineReference reference{.bytes = 1, .fitting = 0, .exceeding = 1};
  SparseAnswer answer;
  EXPECT_FALSE(answer.is_sure());
  EXPECT_TRUE(answer.fills()) << "nothing seen: a line is as long as is known";
  answer.add(reference, 0.6);
  EXPECT_FALSE(answer.is_sure()) << "in the middle";
  answer.add(reference, 0.05);
  EXPECT_TRUE(answer.is_sure());
  EXPECT_FALSE(answer.fills());
  answer.add(reference, 0.8);
  EXPECT_FALSE(answer.fills()) << "less sure than what was seen";
}

TEST(SparseAnswer, NearTheMiddleIsNeither) {
  const LineReference reference{.bytes = 1, .fitting = 0, .exceeding = 1};
  SparseAnswer answer;
  EXPECT_TRUE(answer.is_between());
  answer.add(reference, 0.45);
  EXPECT_TRUE(answer.is_between());
  answer.add(reference, 0.6);
  EXPECT_FALSE(answer.is_between());
}

TEST(SparseAnswer, RatiosBeyondTheReferencesAreSure) {
  SparseAnswer noisy;
  noisy.add({.bytes = 1, .fitting = 0.2, .exceeding = 0.5}, 0.6);
  EXPECT_TRUE(noisy.is_sure());
  EXPECT_TRUE(noisy.fills());
}

}  // namespace
}  // namespace gputopo::probe
