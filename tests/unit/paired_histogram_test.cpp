#include "probe/bench/paired_histogram.h"

#include <gtest/gtest.h>

#include "support/paired_loads.h"

namespace gputopo::probe {
namespace {

using truth::paired_loads;

TEST(PairedHistogram, WithinABinAllDifferencesAreAsLikely) {
  const stats::Histogram ten = paired_loads({{100, 10}});  // 10 and 11 share a bin
  EXPECT_DOUBLE_EQ(part_below(ten, 9.5), 0);
  EXPECT_DOUBLE_EQ(part_below(ten, 10.5), 0.5);
  EXPECT_DOUBLE_EQ(part_below(ten, 11.5), 1);
}

TEST(PairedHistogram, SlowIsWhatOneLoadInTwentyTakes) {
  EXPECT_NEAR(slow_difference(paired_loads({{900, 0}, {100, 30}})), 30.5, 1);
  EXPECT_NEAR(slow_difference(paired_loads({{980, 0}, {20, 30}})), 0.5, 1) << "one in fifty is an outlier";
  EXPECT_NEAR(slow_difference(paired_loads({{1, 8}})), 8.5, 1.1);
}

TEST(PairedHistogram, TheMeanLeavesOutliersOut) {
  EXPECT_NEAR(added_by_translation(paired_loads({{500, -4}, {500, 4}})), 0.5, 1e-9);
  EXPECT_NEAR(added_by_translation(paired_loads({{996, 20}, {2, -300}, {2, 900}})), 20.5, 1e-9);
  EXPECT_NEAR(added_by_translation(paired_loads({{900, 20}, {100, 900}}), 100), 20.5, 1e-9) << "more than a miss takes";
}

TEST(PairedHistogram, OfNoLoads) {
  EXPECT_EQ(part_below({}, 10), 0);
  EXPECT_EQ(part_below(stats::Histogram(100), 10), 0);
  EXPECT_EQ(slow_difference({}), 0);
}

}  // namespace
}  // namespace gputopo::probe
