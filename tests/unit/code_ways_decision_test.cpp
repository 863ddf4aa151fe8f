// Ways of an instruction cache, from slopes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/code/ways_decision.h"

namespace gputopo::probe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The edge of a cache of 2048 instructions under LRU, with all misses scaled by `factor`.
std::vector<MissedLength> edge(double ways, double factor = 1) {
  std::vector<MissedLength> lengths;
  for (double part = 0.2; part < 0.9; part += 0.1) {
    const double length = 2048 * (1 + part / ways);
    lengths.push_back({length, factor * (ways + 1) * (length - 2048)});
  }
  return lengths;
}

CodeWays ways_of(const std::vector<MissedLength>& lengths) {
  return decide_code_ways(fit_code_slope(lengths).value.value(), 2048, 2600, 0.99).value.value();
}

TEST(CodeSlope, IsAMissForEachWayAndOneMore) {
  const CodeSlope slope = fit_code_slope(edge(4)).value.value();
  EXPECT_NEAR(slope.ways(), 4, 1e-9);
  EXPECT_NEAR(slope.all_miss(), 2560, 1e-6) << "a fourth more than fits";
  EXPECT_NEAR(slope.furthest, 0, 1e-6);
}

TEST(CodeSlope, OfReplacementAtRandomIsNone) { EXPECT_FALSE(fit_code_slope(edge(1.2)).value); }

TEST(CodeSlope, OfABentEdgeIsNone) {
  std::vector<MissedLength> bent = edge(4);
  for (MissedLength& length : bent) length.missed *= length.missed / 2048;
  EXPECT_THAT(fit_code_slope(bent).why_not, testing::HasSubstr("do not grow linearly"));
}

TEST(CodeSlope, OfEqualMissesOrLengthsIsNone) {
  EXPECT_FALSE(fit_code_slope(std::vector<MissedLength>(8, {2100, 300})).value);
  std::vector<MissedLength> level = edge(4);
  for (MissedLength& length : level) length.missed = 300;
  EXPECT_FALSE(fit_code_slope(level).value);
  for (MissedLength& length : level) length.missed = 0;
  EXPECT_FALSE(fit_code_slope(level).value);
}

TEST(CodeSlope, OfTwoLengthsOrNoneIsNone) {
  const std::vector<MissedLength> four = edge(4);
  EXPECT_FALSE(fit_code_slope(std::vector<MissedLength>(four.begin(), four.begin() + 2)).value);
  EXPECT_TRUE(fit_code_slope(std::vector<MissedLength>(four.begin(), four.begin() + 3)).value);
  EXPECT_FALSE(fit_code_slope({}).value);
}

TEST(CodeWays, AreWhole) {
  for (const std::int64_t truth : {2, 4, 8, 16}) {
    for (const double factor : {0.99, 1.0, 1.01}) {
      const CodeWays ways = ways_of(edge(static_cast<double>(truth), factor));
      EXPECT_EQ(ways.value, truth);
      EXPECT_EQ(ways.interval.low, static_cast<double>(truth));
      EXPECT_EQ(ways.interval.high, static_cast<double>(truth));
    }
  }
}

TEST(CodeWays, OfManyHaveAnInterval) {
  const CodeWays ways = ways_of(edge(64));
  EXPECT_EQ(ways.value, 64);
  EXPECT_EQ(ways.interval.low, 63);
  EXPECT_EQ(ways.interval.high, 65);
}

// Like the ramp of a hashed index.
TEST(CodeWays, BetweenTwoNumbersAreNone) {
  const CodeSlope slope = fit_code_slope(edge(4.45)).value.value();
  EXPECT_EQ(decide_code_ways(slope, 2048, 2592, 1).why_not,
            "the rate at which misses grow beyond the capacity corresponds to 4.45 ways, which is not a whole number: "
            "the sets overflow unevenly");
}

TEST(CodeWays, NeedAllOfTheCodeToMissBehindTheEdge) {
  const CodeSlope slope = fit_code_slope(edge(4)).value.value();
  EXPECT_EQ(decide_code_ways(slope, 2048, 2592, 0.8).why_not,
            "in code of 2592 instructions, 80% miss, but with sets of 4.0 ways all would miss");
}

// Under a hashed index, some sets overflow long before the capacity: a ramp that looks like fewer ways.
TEST(CodeWays, NeedTheEdgeToBeginWhereCodeStopsToFit) {
  const CodeSlope slope = fit_code_slope(edge(4)).value.value();
  EXPECT_NEAR(slope.begins(), 2048, 1e-6);
  EXPECT_FALSE(decide_code_ways(slope, 1900, 2600, 0.99).value);
  EXPECT_TRUE(decide_code_ways(slope, 2020, 2600, 0.99).value);
}

TEST(Spread, IsEvenAndOfEachOnce) {
  EXPECT_THAT(spread(10, 24, 8), ElementsAre(10, 12, 14, 16, 18, 20, 22, 24));
  EXPECT_THAT(spread(10, 12, 8), ElementsAre(10, 11, 12));
  EXPECT_THAT(spread(10, 10, 8), ElementsAre(10));
  EXPECT_THAT(spread(10, 9, 8), IsEmpty());
  EXPECT_THAT(spread(10, 20, 1), ElementsAre(10));
  EXPECT_THAT(spread(10, 20, 0), IsEmpty());
}

}  // namespace
}  // namespace gputopo::probe
