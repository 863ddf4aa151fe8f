// How much code one fetch brings in, from literals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/code/fetch_decision.h"

namespace gputopo::probe {
namespace {

using testing::HasSubstr;

// Passes over eight jumps on an H200 (1980 MHz, driver 580.159.04), by the place where blocks begin, 16 B apart.
const std::vector<double> kH200 = {169, 169, 170, 171, 169, 169, 176, 183, 169, 169, 170, 171, 169, 169, 176, 183,
                                   169, 169, 170, 171, 169, 169, 176, 183, 169, 169, 170, 171, 169, 169, 176, 177};

TEST(FetchPeriod, OfAnH200IsEightInstructions) {
  const auto period = decide_fetch_period(kH200);
  EXPECT_EQ(period.value, 8u) << period.why_not;
}

// A block runs four instructions. Each fetch that they span beyond the first costs `cycles`.
std::vector<double> straddling(std::size_t fetch, double cycles) {
  std::vector<double> passes(32, 200);
  for (std::size_t place = 0; place < passes.size(); ++place) {
    passes[place] += cycles * static_cast<double>((place + 3) / fetch - place / fetch);
  }
  return passes;
}

TEST(FetchPeriod, IsWhatRepeats) {
  for (const std::size_t fetch : {2, 4, 8, 16}) {
    const auto period = decide_fetch_period(straddling(fetch, 5));
    EXPECT_EQ(period.value, fetch) << period.why_not;
  }
}

TEST(FetchPeriod, OfMoreThanHalfOfThePlacesIsNotTold) {
  const auto period = decide_fetch_period(straddling(32, 5));
  EXPECT_FALSE(period.value);
  EXPECT_THAT(period.why_not, HasSubstr("has no period"));
}

TEST(FetchPeriod, NeedsADifference) {
  EXPECT_FALSE(decide_fetch_period(std::vector<double>(32, 200)).value);
  EXPECT_FALSE(decide_fetch_period(straddling(8, 1)).value) << "the rounding of clocks";
}

TEST(FetchPeriod, IsNotReadOffNoise) {
  std::vector<double> passes;
  for (unsigned i = 0, x = 1; i < 32; ++i, x = x * 1103515245u + 12345u) passes.push_back(200 + (x >> 16) % 20);
  EXPECT_FALSE(decide_fetch_period(passes).value);
}

}  // namespace
}  // namespace gputopo::probe
