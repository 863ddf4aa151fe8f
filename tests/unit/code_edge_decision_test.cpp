// The shape of caches with few sets, from their steep edges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "probe/code/edge_decision.h"

namespace gputopo::probe {
namespace {

using testing::HasSubstr;

constexpr double kInstructionBytes = 16;

// Misses around the edge of a cache that holds `fits` instructions, at lengths one step of the lead apart.
std::vector<MissedLength> edge(std::uint32_t fits, const std::function<double(double length)>& missed) {
  std::vector<MissedLength> lengths;
  for (std::uint32_t length = fits > 64 ? fits - 62 : 2; length <= fits + 256; length += 2) {
    lengths.push_back({static_cast<double>(length), missed(length)});
  }
  return lengths;
}

std::vector<MissedLength> edge(const CodeShape& shape) {
  return edge(shape.fits(), [&](double length) { return shape.missed(length); });
}

void expect_shape(const std::vector<MissedLength>& lengths, const CodeShape& truth) {
  const Decision<CodeShape> decision = decide_code_shape(lengths, truth.fits(), kInstructionBytes);
  ASSERT_TRUE(decision.value) << decision.basis << "; " << decision.why_not;
  EXPECT_EQ(decision.value->line, truth.line);
  EXPECT_EQ(decision.value->sets, truth.sets);
  EXPECT_EQ(decision.value->ways, truth.ways);
}

TEST(CodeShape, MissesAStairOfASetForEachLineTooMany) {
  const CodeShape shape{.line = 8, .sets = 4, .ways = 2};  // 64 instructions
  EXPECT_EQ(shape.missed(64), 0);
  EXPECT_EQ(shape.missed(66), 18) << "a set of three lines, one of which is not run whole";
  EXPECT_EQ(shape.missed(72), 24);
  EXPECT_EQ(shape.missed(80), 48);
  EXPECT_EQ(shape.missed(96), 96) << "all sets";
  EXPECT_EQ(shape.missed(200), 200);
}

TEST(CodeShape, IsToldFromItsEdge) {
  for (const CodeShape& truth : {CodeShape{8, 4, 4}, CodeShape{8, 16, 8}, CodeShape{16, 2, 16}, CodeShape{4, 32, 4}}) {
    expect_shape(edge(truth), truth);
  }
}

TEST(CodeShape, IsToldThroughNoiseAndAMissThatIsKnownBadly) {
  const CodeShape truth{8, 8, 8};
  std::vector<MissedLength> lengths = edge(truth);
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.03 * 9 * 8);
  for (MissedLength& length : lengths) length.missed = 1.04 * length.missed + noise(random);
  expect_shape(lengths, truth);
}

TEST(CodeShape, IsToldThoughWhatFitsIsOffByABlock) {
  const CodeShape truth{8, 8, 8};
  for (const std::uint32_t fits : {truth.fits() - 32, truth.fits() + 32}) {
    const Decision<CodeShape> decision = decide_code_shape(edge(truth), fits, kInstructionBytes);
    ASSERT_TRUE(decision.value);
    EXPECT_EQ(decision.value->ways, 8u);
  }
}

TEST(CodeShape, OfOneSetShowsNoLine) {
  const CodeShape truth{8, 1, 64};
  EXPECT_THAT(decide_code_shape(edge(truth), truth.fits(), kInstructionBytes).why_not,
              HasSubstr("the cache has one set"));
}

// Under a hashed index, one of two sets overflows first, and the other by chance: here after eight lines, three of
// which belong to the first set.
TEST(CodeShape, OfTwoSetsThatFillUnequallyIsNone) {
  const auto uneven = edge(128, [](double length) {
    if (length <= 128) return 0.0;
    if (length > 192) return length;
    return 72 + std::min(16.0, length - 128);
  });
  const Decision<CodeShape> decision = decide_code_shape(uneven, 128, kInstructionBytes);
  EXPECT_FALSE(decision.value) << decision.basis;
  expect_shape(edge(CodeShape{16, 2, 8}), CodeShape{16, 2, 8});
}

TEST(CodeShape, OfTwoSetsOfOneWayIsNone) {
  const CodeShape shape{64, 2, 1};
  EXPECT_THAT(decide_code_shape(edge(shape), shape.fits(), kInstructionBytes).why_not, HasSubstr("only two steps"));
}

TEST(CodeShape, OfARampIsNone) {
  const auto ramp = edge(512, [](double length) { return length <= 512 ? 0 : 2 * (length - 512); });
  EXPECT_THAT(decide_code_shape(ramp, 512, kInstructionBytes).why_not, HasSubstr("do not rise in equal steps"));
}

TEST(CodeShape, OfAllEqualIsNone) {
  const auto no_misses = edge(512, [](double) { return 0; });
  EXPECT_FALSE(decide_code_shape(no_misses, 512, kInstructionBytes).value);
  const auto all_miss = edge(512, [](double length) { return length; });
  EXPECT_FALSE(decide_code_shape(all_miss, 512, kInstructionBytes).value);
}

TEST(CodeShape, OfOneLengthOrNoneIsNone) {
  EXPECT_FALSE(decide_code_shape(std::vector<MissedLength>{{600, 300}}, 512, kInstructionBytes).value);
  EXPECT_FALSE(decide_code_shape({}, 512, kInstructionBytes).value);
}

TEST(CodeShape, OfCodeThatNoCacheFitsIsNone) {
  EXPECT_FALSE(decide_code_shape(edge(CodeShape{8, 4, 4}), 0, 1e6).value) << "instructions longer than any line";
}

}  // namespace
}  // namespace gputopo::probe
