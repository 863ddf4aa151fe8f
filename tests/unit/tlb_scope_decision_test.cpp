#include <gtest/gtest.h>

#include "probe/tlb/scope_decision.h"

namespace gputopo::probe {
namespace {

TEST(TlbEviction, IsAPartOfWhatAnSmDoesToItself) {
  const TlbEviction eviction{
      .alone_cycles = 2, .after_itself_cycles = 22, .after_sms_cycles = {{1, 22}, {2, 2}, {5, 12}, {6, 1}}};
  const auto parts = evicted_parts(eviction, 30);
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 4u);
  EXPECT_EQ((*parts)[2].sm, 5u);
  EXPECT_DOUBLE_EQ((*parts)[0].part, 1);
  EXPECT_DOUBLE_EQ((*parts)[1].part, 0);
  EXPECT_DOUBLE_EQ((*parts)[2].part, 0.5);
  EXPECT_LT((*parts)[3].part, 0) << "noise";
}

TEST(TlbEviction, IsNotToldWhereOwnPagesHardlyAddAnything) {
  EXPECT_FALSE(evicted_parts({.alone_cycles = 2, .after_itself_cycles = 6, .after_sms_cycles = {{1, 6}}}, 30));
  EXPECT_TRUE(evicted_parts({.alone_cycles = 2, .after_itself_cycles = 7, .after_sms_cycles = {{1, 6}}}, 30));
  EXPECT_FALSE(evicted_parts({.alone_cycles = 2, .after_itself_cycles = 2, .after_sms_cycles = {{1, 2}}}, 0));
  EXPECT_FALSE(evicted_parts({.alone_cycles = 9, .after_itself_cycles = 2}, 30));
}

TEST(TlbEviction, TakesWhatIsMoreThanAllMissesForAnOutlier) {
  EXPECT_DOUBLE_EQ(max_added_cycles({9, 90}), 16 + 2 * 99);
  EXPECT_DOUBLE_EQ(max_added_cycles({}), 16);
}

}  // namespace
}  // namespace gputopo::probe
