// The cost of a TLB miss, from lines apart and together.
#include <gtest/gtest.h>

#include "probe/tlb/penalty_decision.h"

namespace gputopo::probe {
namespace {

// Four lines of a page: together, one in four misses. The lines' places affect both orders equally.
std::vector<TlbOrders> orders(double miss, const std::vector<double>& of_lines) {
  std::vector<TlbOrders> by_sm;
  for (const double cycles : of_lines) by_sm.push_back({miss + cycles, miss / 4 + cycles});
  return by_sm;
}

TEST(TlbPenalties, AreWhatTheSameLinesTakeMoreApart) {
  const auto found = find_tlb_penalty(orders(10, {-2, 0, 1, 3}), 4, 8, {});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->cycles, 10, 1e-9);
  EXPECT_NEAR(found->interval.high - found->interval.low, 0.6, 1e-6);
}

TEST(TlbPenalties, AreOfOneLevelAlone) {
  const TlbPenalty nearer{.cycles = 10, .interval = {9, 11}};
  const auto found = find_tlb_penalty(orders(110, {0, 0, 0}), 4, 8, {nearer});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->cycles, 100, 1e-9);
  EXPECT_GT(found->interval.high, 102);
}

TEST(TlbPenalties, DifferBySm) {
  std::vector<TlbOrders> by_sm = orders(96, {0, 0, 0, 0});
  for (const TlbOrders& far : orders(150, {0, 0, 0, 0})) by_sm.push_back(far);
  const auto found = find_tlb_penalty(by_sm, 4, 8, {});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->cycles, 123, 1e-9);
  EXPECT_LT(found->interval.low, 105);
  EXPECT_EQ(found->cycles_by_sm.size(), 8u);
}

TEST(TlbPenalties, OfLoadsThatAllTakeTheSameAreAsWideAsABin) {
  const auto found = find_tlb_penalty(orders(12, {0, 0, 0}), 4, 0.3, {});
  ASSERT_TRUE(found);
  EXPECT_GE(found->interval.high, 13);
  EXPECT_LT(bins_error_cycles(2), 0.001);
}

// Loads that miss no TLB level wait for memory, for which TLB misses may cost a different time.
TEST(TlbPenalties, AreNotToldOfLinesThatMissTheCache) {
  EXPECT_FALSE(find_tlb_penalty(orders(80, {20, 22, 24}), 4, 8, {}));
  EXPECT_TRUE(find_tlb_penalty(orders(80, {2, 3, 4}), 4, 8, {}));
}

TEST(TlbPenalties, NoMissIsNone) {
  EXPECT_FALSE(find_tlb_penalty(orders(0, {0, 0, 0}), 4, 8, {}));
  EXPECT_FALSE(find_tlb_penalty({}, 4, 8, {}));
  EXPECT_FALSE(find_tlb_penalty(orders(10, {0}), 1, 8, {}));
}

}  // namespace
}  // namespace gputopo::probe
