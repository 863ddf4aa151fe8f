// Bank conflicts of a warp's strides, and the layout inferred from the cost of the strides.
#include "probe/warps/banks_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "probe/bench/value_or_throw.h"

namespace gputopo::probe {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_EQ(conflicts_of(kRecent, 4), 0u);    // neighbors
  EXPECT_EQ(conflicts_of(kRecent, 8), 1u);    // two-way
  EXPECT_EQ(conflicts_of(kRecent, 12), 0u);   // odd strides have none
  EXPECT_EQ(conflicts_of(kRecent, 64), 15u);  // sixteen-way
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

// Mei et al., NPC 2014, Fig. 6 and 7. In both modes a stride of two words has no conflict, and one of four has two-way
// conflicts. A stride of six has conflicts only if successive words lie in successive banks.
TEST(Banks, RowsOfTwoBanksHoldWordsThatAreFarApart) {
  const BankLayout four_byte_mode{32, 8, 32, 32, 4};
  EXPECT_EQ(conflicts_of(four_byte_mode, 4), 0u);
  EXPECT_EQ(conflicts_of(four_byte_mode, 8), 0u);
  EXPECT_EQ(conflicts_of(four_byte_mode, 16), 1u);
  EXPECT_EQ(conflicts_of(four_byte_mode, 24), 1u);
  const BankFit fit = value_of(decide_banks(curve_of(four_byte_mode, 50, 37)));
  EXPECT_EQ(fit.layout, four_byte_mode);
}

// 8 lanes per request are not among the layouts that are tried. Eight banks of 8 B explain most strides, but predict
// -29 cycles without conflicts.
TEST(Banks, AFitThatMissesTheAccessesWithoutConflictsDecidesNothing) {
  const Decision<BankFit> decision = decide_banks(curve_of({16, 4, 8}, 28, 30));
  EXPECT_FALSE(decision.value);
  EXPECT_THAT(decision.why_not, HasSubstr("explain"));
}

RequestCurve request_curve(const BankLayout& layout, std::uint32_t word_bytes, double free_cycles, double pass_cycles) {
  RequestCurve curve;
  for (const std::uint32_t words : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 16u, 32u}) {
    curve.accesses.push_back({words * word_bytes, word_bytes});
  }
  for (std::uint64_t words = 3; words <= 32; ++words) {
    curve.accesses.push_back({word_bytes, word_bytes, words * word_bytes});
  }
  for (const LaneBytes& access : curve.accesses) {
    curve.cycles.push_back(free_cycles + pass_cycles * (passes_of(layout, access) - 1));
  }
  return curve;
}

TEST(BankRequests, LanesAtOnceAreReadOffTheWordsThatLanesShare) {
  for (const std::uint32_t word_bytes : {4u, 8u, 16u}) {
    for (const std::uint32_t lanes : {4u, 8u, 16u, 32u}) {
      BankLayout layout = kRecent;
      layout.lanes_at_once = lanes;
      const RequestFit fit = value_of(decide_request(request_curve(layout, word_bytes, 23, 2), {kRecent, 23, 2}));
      EXPECT_EQ(fit.lanes_at_once, lanes) << word_bytes;
      EXPECT_NEAR(fit.pass_cycles, 2, 1e-9);
    }
  }
}

// An H100 (1980 MHz): loads of 8 and 16 B in which lanes share 3 to 32 words. Passes serve half and quarter warps.
TEST(BankRequests, AnH100ServesHalfAndQuarterWarps) {
  const std::vector<double> of_8 = {26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 26, 28,
                                    28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 26};
  const std::vector<double> of_16 = {32, 32, 32, 32, 32, 32, 38, 38, 36, 34, 36, 36, 36, 32, 34,
                                     34, 34, 34, 34, 34, 34, 32, 34, 34, 34, 34, 34, 34, 34, 32};
  for (const auto& [word_bytes, cycles, lanes] : {std::tuple(8u, of_8, 16u), {16u, of_16, 8u}}) {
    RequestCurve curve;
    for (std::uint64_t words = 3; words <= 32; ++words) {
      curve.accesses.push_back({word_bytes, word_bytes, words * word_bytes});
    }
    curve.cycles = cycles;
    EXPECT_EQ(value_of(decide_request(curve, {kRecent, 23, 2})).lanes_at_once, lanes);
  }
}

TEST(BankRequests, WhatNoNumberOfLanesExplainsIsNotTold) {
  RequestCurve flat = request_curve(kRecent, 8, 23, 2);
  std::ranges::fill(flat.cycles, 23.0);
  EXPECT_THAT(decide_request(flat, {kRecent, 23, 2}).why_not, HasSubstr("cost about as much as a bank conflict"));
  RequestCurve noisy = request_curve(kRecent, 8, 23, 2);
  for (std::size_t i = 0; i < noisy.cycles.size(); i += 2) noisy.cycles[i] += 3;
  EXPECT_FALSE(decide_request(noisy, {kRecent, 23, 2}).value);
  // If a pass costs twice as much as a conflict, there may be twice as many passes.
  EXPECT_FALSE(decide_request(request_curve(kRecent, 8, 23, 4), {kRecent, 23, 2}).value);
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
        const BankFit fit = value_of(decide_banks(curve_of(layout, 23, 2)));
        EXPECT_EQ(fit.layout, layout) << banks << " of " << bytes << " for " << lanes;
        EXPECT_NEAR(fit.conflict_cycles, 2, 1e-9);
        EXPECT_NEAR(fit.free_cycles, 23, 1e-9);
      }
    }
  }
}

TEST(Banks, AFlatCurveIsInconclusive) {
  const BankCurve flat = curve_of(kRecent, 23, 0);
  EXPECT_FALSE(decide_banks(flat).value);
  EXPECT_THAT(decide_banks(flat).why_not, HasSubstr("no stride takes longer than another"));
  EXPECT_THROW(static_cast<void>(value_of(decide_banks(flat))), Inconclusive);
  const BankCurve falling = curve_of(kRecent, 123, -2);
  EXPECT_THAT(decide_banks(falling).why_not, HasSubstr("no stride takes longer than another"));
}

TEST(Banks, ACurveThatNoLayoutExplainsIsInconclusive) {
  BankCurve strange = curve_of(kRecent, 23, 2);
  for (std::size_t i = 0; i < strange.load_cycles.size(); ++i) strange.load_cycles[i] += static_cast<double>(i % 7 * 3);
  EXPECT_FALSE(decide_banks(strange).value);
  EXPECT_THROW(static_cast<void>(value_of(decide_banks(strange))), Inconclusive);
}

// Each further word costs more, as if lines limited the access: no banks.
TEST(Banks, ARampIsInconclusive) {
  BankCurve ramp = curve_of(kRecent, 23, 0);
  for (std::size_t i = 0; i < ramp.load_cycles.size(); ++i) ramp.load_cycles[i] += static_cast<double>(i);
  EXPECT_THAT(decide_banks(ramp).why_not, HasSubstr("no number and width of banks explains"));
}

TEST(Banks, NoiseOfLessThanAConflictDoesNotMatter) {
  BankCurve noisy = curve_of(kRecent, 23, 2);
  std::mt19937_64 random(11);
  std::normal_distribution<double> jitter(0, 0.3);
  for (double& cycles : noisy.load_cycles) cycles += jitter(random);
  const Decision<BankFit> decision = decide_banks(noisy);
  ASSERT_TRUE(decision.value) << decision.why_not;
  EXPECT_EQ(decision.value->layout, kRecent);
  const stats::Interval interval = conflict_interval(*decision.value);
  EXPECT_LE(interval.low, 2);
  EXPECT_GE(interval.high, 2);
}

// No layout separates these strides: a broadcast and neighboring words cost the same in all of them.
TEST(Banks, FewStridesAreInconclusive) {
  EXPECT_FALSE(decide_banks({}).value);
  BankCurve one = curve_of(kRecent, 23, 2);
  one.strides_bytes.resize(1);
  one.load_cycles.resize(1);
  EXPECT_FALSE(decide_banks(one).value);
  BankCurve two{.strides_bytes = {4, 8}, .load_cycles = {23, 25}};
  EXPECT_FALSE(decide_banks(two).value) << "any line goes through two points";
  BankCurve three{.strides_bytes = {4, 8, 128}, .load_cycles = {23, 25, 85}};
  EXPECT_THAT(decide_banks(three).why_not, HasSubstr("about as well as"));
}

TEST(Banks, AConflictIsKnownToTheDriftOfTheClocks) {
  const stats::Interval interval = conflict_interval({.layout = kRecent, .conflict_cycles = 2, .error_cycles = 0});
  EXPECT_DOUBLE_EQ(interval.low, 1.99);
  EXPECT_DOUBLE_EQ(interval.high, 2.01);
}

}  // namespace
}  // namespace gputopo::probe
