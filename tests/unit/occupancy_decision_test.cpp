// The capacity of an SM, from literals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/compute/sm_resources_decision.h"

namespace gputopo::probe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Four schedulers with 16384 registers each, allocated to warps in units.
std::vector<RegisterSample> samples_of(std::uint32_t unit, std::uint32_t step, std::uint32_t first = 24) {
  std::vector<RegisterSample> samples;
  for (std::uint32_t registers = first; registers <= 96; registers += step) {
    const std::uint32_t of_warp = (registers * 32 + unit - 1) / unit * unit;
    samples.push_back({registers, std::min(64u, 4 * (16384 / of_warp))});
  }
  return samples;
}

TEST(Registers, TheirUnitIsWhereWarpsBecomeFewer) {
  for (const std::uint32_t unit : {128u, 256u, 512u}) {
    const auto decision = decide_registers(samples_of(unit, 1), 32, 64, 16);
    ASSERT_TRUE(decision.value) << decision.why_not;
    EXPECT_EQ(decision.value->unit, unit);
    EXPECT_EQ(decision.value->registers.low, 65536);
    EXPECT_LT(decision.value->registers.high, 65536 * 1.1);
  }
}

TEST(Registers, MayBeGivenByTheCompilerInTwos) {
  for (const std::uint32_t first : {24u, 25u}) {
    const auto decision = decide_registers(samples_of(256, 2, first), 32, 64, 16);
    ASSERT_TRUE(decision.value) << decision.why_not;
    EXPECT_EQ(decision.value->unit, 256u);
  }
}

TEST(Registers, TellNothingWhereWarpsAreNeverFewer) {
  EXPECT_FALSE(decide_registers({}, 32, 64, 16).value);
  EXPECT_FALSE(decide_registers(std::vector<RegisterSample>{{32, 64}}, 32, 64, 16).value);
  const auto decision = decide_registers(std::vector<RegisterSample>{{30, 64}, {31, 64}, {32, 64}}, 32, 64, 16);
  EXPECT_THAT(decision.why_not, HasSubstr("at only 0 register counts"));
  // Edges that are far apart say nothing about the unit.
  EXPECT_FALSE(decide_registers(samples_of(256, 8), 32, 64, 16).value);
}

TEST(Registers, AreNotDecidedWhereNumbersContradict) {
  std::vector<RegisterSample> samples = samples_of(256, 1);
  samples.back().warps = 60;  // of 96 registers each: more than the SM has
  EXPECT_FALSE(decide_registers(samples, 32, 64, 16).value);
}

// The largest shared memory with which each number of blocks fits.
std::vector<SharedSample> shared_samples(std::uint64_t all, std::uint64_t unit, std::uint64_t reserved,
                                         std::uint32_t most_blocks) {
  std::vector<SharedSample> samples;
  for (std::uint32_t blocks = 2; blocks <= most_blocks; ++blocks) {
    samples.push_back({blocks, all / blocks / unit * unit - reserved});
  }
  return samples;
}

TEST(SharedUnit, IsWhatAllEdgesAreMultiplesOf) {
  EXPECT_EQ(decide_shared_unit(shared_samples(233472, 128, 1024, 32), 1024).value, 128u);
  EXPECT_EQ(decide_shared_unit(shared_samples(98304, 256, 0, 32), 0).value, 256u);
  EXPECT_EQ(decide_shared_unit(shared_samples(16384, 512, 0, 8), 0).value, 512u);
}

// With up to ten blocks, all edges of 128 B units are multiples of 256 B.
TEST(SharedUnit, IsNotDecidedWhereHalfOfItWouldLookTheSame) {
  const auto decision = decide_shared_unit(shared_samples(233472, 128, 1024, 10), 1024);
  EXPECT_FALSE(decision.value);
  EXPECT_THAT(decision.why_not, HasSubstr("fit allocation units of both"));
  EXPECT_FALSE(decide_shared_unit(shared_samples(233472, 128, 1024, 3), 1024).value);
}

TEST(Schedulers, AreTheWarpsThatDoNotDisturb) {
  const WarpRates four = {{1, 2, 3, 4, 8, 16}, {0.96, 1.92, 2.86, 3.82, 3.91, 3.96}};
  const WarpRates slower = {{1, 2, 3, 4, 8, 16}, {0.5, 1, 1.5, 2, 2, 2}};
  EXPECT_EQ(decide_schedulers(std::vector{four, slower}).value, 4u);
  const WarpRates two = {{1, 2, 3, 4}, {1, 2, 1.5, 2}};
  EXPECT_EQ(decide_schedulers(std::vector{two}).value, 2u);
  EXPECT_FALSE(decide_schedulers(std::vector{four, two}).value) << "two operations that disagree";
  EXPECT_FALSE(decide_schedulers(std::vector{WarpRates{{1, 2, 4}, {1, 2, 2.5}}}).value) << "no whole number";
  EXPECT_FALSE(decide_schedulers(std::vector{WarpRates{{1, 2, 4}, {1, 1.2, 4}}}).value) << "not in proportion";
  EXPECT_FALSE(decide_schedulers({}).value);
}

TEST(Clocks, OfAGroupAgreeWhateverTheMoment) {
  const std::vector<ClockReading> readings = {{0, 1000, 2000}, {1, 1500, 5003000}, {2, 2000, 4010}, {3, 1100, 5002200}};
  const ClockGroups groups = clock_groups(readings, 2);
  EXPECT_THAT(groups.groups, ElementsAre(ElementsAre(0u, 2u), ElementsAre(1u, 3u)));
  EXPECT_THAT(groups.offsets_cycles, ElementsAre(0, 5000000, 10, 5000000));
  EXPECT_TRUE(clock_groups({}, 2).groups.empty());
}

TEST(Sides, CostWhatTheyTakeBeyondTheirOperations) {
  const auto apart = decide_divergence(std::vector<DivergenceSample>{{2, 373}, {4, 734}, {8, 1456}, {16, 2911}}, 129);
  ASSERT_TRUE(apart.value);
  EXPECT_NEAR(apart.value->cycles, 52, 1);
  EXPECT_FALSE(apart.value->interleave);
  const auto beside = decide_divergence(std::vector<DivergenceSample>{{2, 200}, {4, 220}, {8, 260}}, 129);
  ASSERT_TRUE(beside.value);
  EXPECT_TRUE(beside.value->interleave);
  EXPECT_FALSE(decide_divergence(std::vector<DivergenceSample>{{2, 100}, {4, 900}, {8, 1000}}, 129).value) << "no line";
  EXPECT_FALSE(decide_divergence(std::vector<DivergenceSample>{{2, 100}, {4, 200}}, 129).value);
}

}  // namespace
}  // namespace gputopo::probe
