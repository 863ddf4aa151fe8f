// Bank conflicts of a warp's strides, and the layout that is read off what the strides cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/access.h"

namespace gputopo::probe {
namespace {

constexpr BankLayout kRecent{32, 4, 32};

BankCurve curve_of(const BankLayout& layout, double free_cycles, double conflict_cycles) {
  BankCurve curve;
  for (std::uint32_t words = 0; words <= 64; ++words) {
    curve.strides_bytes.push_back(4 * words);
    curve.load_cycles.push_back(free_cycles + conflict_cycles * conflicts_of(layout, 4 * words));
  }
  return curve;
}

TEST(Banks, ConflictsAreWhatTheProgrammingGuideSays) {
  EXPECT_EQ(conflicts_of(kRecent, 0), 0u);    // a broadcast
  EXPECT_EQ(conflicts_of(kRecent, 4), 0u);    // neighbours
  EXPECT_EQ(conflicts_of(kRecent, 8), 1u);    // two ways
  EXPECT_EQ(conflicts_of(kRecent, 12), 0u);   // odd strides have none
  EXPECT_EQ(conflicts_of(kRecent, 64), 15u);  // sixteen ways
  EXPECT_EQ(conflicts_of(kRecent, 128), 31u);
  EXPECT_EQ(conflicts_of(kRecent, 132), 0u);  // padded
}

TEST(Banks, WiderBanksHoldTwoWords) {
  const BankLayout kepler{32, 8, 32};
  EXPECT_EQ(conflicts_of(kepler, 4), 0u);
  EXPECT_EQ(conflicts_of(kepler, 8), 0u);
  EXPECT_EQ(conflicts_of(kepler, 16), 1u);
  EXPECT_EQ(conflicts_of(kepler, 24), 0u);  // Mei et al., NPC 2014, Fig. 6
}

TEST(Banks, HalfWarpsAreRequestsOfTheirOwn) {
  const BankLayout gt200{16, 4, 16};
  EXPECT_EQ(conflicts_of(gt200, 4), 0u);
  EXPECT_EQ(conflicts_of(gt200, 8), 2u);  // one in each half
  EXPECT_EQ(conflicts_of(gt200, 64), 30u);
}

TEST(Banks, EveryLayoutIsReadOffItsCurve) {
  for (const std::uint32_t banks : {16u, 32u, 64u}) {
    for (const std::uint32_t bytes : {4u, 8u}) {
      for (const std::uint32_t lanes : {16u, 32u}) {
        const BankLayout layout{banks, bytes, lanes};
        const BankFit fit = fit_banks(curve_of(layout, 23, 2));
        EXPECT_EQ(fit.layout, layout) << banks << " of " << bytes << " for " << lanes;
        EXPECT_NEAR(fit.conflict_cycles, 2, 1e-9);
        EXPECT_NEAR(fit.free_cycles, 23, 1e-9);
      }
    }
  }
}

TEST(Banks, ACurveThatNoLayoutExplainsIsInconclusive) {
  BankCurve flat = curve_of(kRecent, 23, 0);
  EXPECT_THROW(static_cast<void>(fit_banks(flat)), Inconclusive);
  BankCurve strange = curve_of(kRecent, 23, 2);
  for (std::size_t i = 0; i < strange.load_cycles.size(); ++i) strange.load_cycles[i] += static_cast<double>(i % 7 * 3);
  EXPECT_THROW(static_cast<void>(fit_banks(strange)), Inconclusive);
}

}  // namespace
}  // namespace gputopo::probe
