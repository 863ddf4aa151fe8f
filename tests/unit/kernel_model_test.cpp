// The equations behind `gputopo model`, each compared with numbers calculated by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernel_model/hong_kim.h"
#include "kernel_model/occupancy.h"
#include "kernel_model/roofline.h"

namespace gputopo::kernel_model {
namespace {

// ---- Occupancy ----

// Compute capability 9.0; 8.0 differs only in its shared memory.
SmLimits hopper() {
  SmLimits sm;
  sm.warp_size = 32;
  sm.warps = 64;
  sm.blocks = 32;
  sm.threads_per_block = 1024;
  sm.registers = 65536;
  sm.register_unit = 256;
  sm.schedulers = 4;
  sm.shared_bytes = 233472;
  sm.shared_reserved_bytes = 1024;
  sm.shared_unit = 128;
  return sm;
}

struct KnownOccupancy {
  BlockNeeds block;
  std::uint64_t blocks;
  OccupancyLimit limit;
};

// Values from NVIDIA's occupancy calculator.
TEST(Occupancy, IsThatOfTheOccupancyCalculator) {
  using enum OccupancyLimit;
  const KnownOccupancy known[] = {
      {{256, 32, 0}, 8, kWarps},
      {{1024, 32, 0}, 2, kWarps},
      {{96, 0, 0}, 21, kWarps},  // 63 of 64 warps
      {{32, 0, 0}, 32, kBlocks},
      {{256, 64, 0}, 4, kRegisters},
      {{256, 40, 0}, 6, kRegisters},   // 1280 registers per warp: 12 warps per scheduler, not 51 per SM
      {{384, 168, 0}, 1, kRegisters},  // 5376 per warp: three warps per scheduler
      {{128, 255, 0}, 2, kRegisters},  // 8160 become 8192
      {{256, 33, 0}, 6, kRegisters},   // 1056 become 1280
      {{1024, 65, 0}, 0, kRegisters},
      {{256, 32, 49152}, 4, kSharedMemory},  // the system takes 1 KiB more for each block
      {{128, 32, 102400}, 2, kSharedMemory},
      {{128, 32, 232448}, 1, kSharedMemory},  // the most that a block may have
      {{128, 32, 232449}, 0, kSharedMemory},
      {{1025, 0, 0}, 0, kThreadsPerBlock},
  };
  for (const KnownOccupancy& example : known) {
    const Occupancy found = occupancy(hopper(), example.block);
    const auto& [threads, registers, shared] = example.block;
    EXPECT_EQ(found.blocks, example.blocks) << threads << " threads, " << registers << " registers, " << shared << " B";
    EXPECT_EQ(found.limit, example.limit) << threads << " threads, " << registers << " registers, " << shared << " B";
  }
}

// Compute capability 7.5 and 8.6, from the table of capabilities in the CUDA C++ Programming Guide.
TEST(Occupancy, FollowsTheLimitsOfOtherGpus) {
  SmLimits turing = hopper();
  turing.warps = 32;
  turing.blocks = 16;
  turing.shared_bytes = 65536;
  turing.shared_reserved_bytes = 0;
  turing.shared_unit = 256;
  EXPECT_EQ(occupancy(turing, {256, 64, 0}).blocks, 4u);
  EXPECT_EQ(occupancy(turing, {64, 32, 0}).blocks, 16u);
  EXPECT_EQ(occupancy(turing, {128, 32, 20000}).blocks, 3u);
  SmLimits ampere = hopper();
  ampere.warps = 48;
  ampere.blocks = 16;
  ampere.shared_bytes = 102400;
  EXPECT_EQ(occupancy(ampere, {1024, 32, 0}).warps(), 32u);
  EXPECT_EQ(occupancy(ampere, {256, 32, 34000}).blocks, 2u);
}

TEST(Occupancy, TakesUnitsOfNothingAsNone) {
  SmLimits sm = hopper();
  sm.register_unit = sm.shared_unit = 0;
  sm.schedulers = 1;
  EXPECT_EQ(occupancy(sm, {256, 40, 49152}).blocks, 4u);
  sm.schedulers = 0;
  EXPECT_EQ(occupancy(sm, {256, 40, 0}).blocks, 0u);
}

// ---- Hong and Kim ----

// The worked example of Hong and Kim: a tiled matrix multiplication of 80 blocks of 128 threads on 16 SMs at 1 GHz with
// 80 GB/s, whose 6 uncoalesced loads take 32 transactions each.
HongKimInput example_of_the_paper() {
  HongKimInput input;
  input.memory = {{6, 32, 420, 10}};
  input.traffic = {{"device", 6 * 128, 80e9}};
  input.comp_cycles = 4 * (27 + 6);
  input.barriers = 6;
  input.warps_per_block = 4;
  input.blocks_per_sm = 5;
  input.active_sms = 16;
  input.grid_blocks = 80;
  input.clock_hz = 1e9;
  return input;
}

TEST(HongKim, FollowsTheExampleOfThePaper) {
  const HongKim result = hong_kim(example_of_the_paper());
  EXPECT_EQ(result.warps, 20);
  EXPECT_EQ(result.mem_l, 730);
  EXPECT_EQ(result.departure_delay, 320);
  EXPECT_NEAR(result.mwp_without_bandwidth, 2.28, 0.005);
  EXPECT_NEAR(result.mwp_peak_bandwidth, 28.57, 0.06);  // the paper rounds 0.1753 GB/s to 0.175
  EXPECT_EQ(result.mwp_level, "device");
  EXPECT_NEAR(result.mwp, 2.28, 0.005);
  EXPECT_EQ(result.comp_cycles, 132);
  EXPECT_EQ(result.mem_cycles, 4380);
  EXPECT_NEAR(result.cwp_full, 34.18, 0.005);
  EXPECT_EQ(result.cwp, 20);
  EXPECT_EQ(result.repetitions, 1);
  EXPECT_EQ(result.which, Case::kMemory);
  EXPECT_NEAR(result.cycles - result.barrier_cycles, 38450, 0.001 * 38450);
  EXPECT_NEAR(result.barrier_cycles, 12288, 0.002 * 12288);
  EXPECT_NEAR(result.cycles, 50738, 0.001 * 50738);
}

// Equation 22: 4 warps that wait 1000 cycles once and compute 100 each.
TEST(HongKim, AddsWhatFewWarpsComputeToOneWait) {
  HongKimInput input;
  input.memory = {{1, 1, 1000, 1}};
  input.comp_cycles = 100;
  input.warps_per_block = 4;
  const HongKim result = hong_kim(input);
  EXPECT_EQ(result.mwp, 4);
  EXPECT_EQ(result.cwp_full, 11);
  EXPECT_EQ(result.cwp, 4);
  EXPECT_EQ(result.which, Case::kFewWarps);
  EXPECT_EQ(result.cycles, 1000 + 100 + 100 * 3);
}

// Equation 23: 2 of 8 warps wait at a time: 4 waits of 1000 cycles, and 50 cycles of one of the second's 2 periods.
TEST(HongKim, QueuesWhatWaitsForMemory) {
  HongKimInput input;
  input.memory = {{2, 1, 500, 250}};
  input.comp_cycles = 100;
  input.warps_per_block = 8;
  const HongKim result = hong_kim(input);
  EXPECT_EQ(result.mwp, 2);
  EXPECT_EQ(result.cwp, 8);
  EXPECT_EQ(result.which, Case::kMemory);
  EXPECT_EQ(result.cycles, 1000 * 8 / 2 + 50);
}

// Equation 24: 16 warps hide all waits but one behind their computation.
TEST(HongKim, HidesMemoryBehindComputation) {
  HongKimInput input;
  input.memory = {{4, 1, 100, 2}};
  input.comp_cycles = 200;
  input.warps_per_block = 16;
  const HongKim result = hong_kim(input);
  EXPECT_EQ(result.mwp, 16);
  EXPECT_EQ(result.cwp, 3);
  EXPECT_EQ(result.which, Case::kCompute);
  EXPECT_EQ(result.cycles, 100 + 200 * 16);
}

// As printed, the paper uses equation 23 if a warp computes longer than it waits, which would omit most of the work.
TEST(HongKim, CountsAllThatIsComputedWhereThatTakesLongest) {
  HongKimInput input;
  input.memory = {{1, 1, 100, 10}};
  input.comp_cycles = 1000;
  input.warps_per_block = 32;
  EXPECT_EQ(hong_kim(input).which, Case::kCompute);
  EXPECT_EQ(hong_kim(input).cycles, 100 + 1000 * 32);
}

// Equations 6 and 7: a warp that waits 512 cycles for 128 B takes 0.25 B per clock. 4 SMs share 8 B: 8 warps each.
TEST(HongKim, BoundsWarpsByTheBandwidthOfTheTightestLevel) {
  HongKimInput input;
  input.memory = {{10, 1, 512, 1}};
  input.traffic = {{"l2", 1280, 16e9}, {"device", 1280, 8e9}, {"l1", 0, 1}};
  input.warps_per_block = 32;
  input.active_sms = 4;
  input.clock_hz = 1e9;
  const HongKim result = hong_kim(input);
  EXPECT_EQ(result.mwp_peak_bandwidth, 8);
  EXPECT_EQ(result.mwp_level, "device");
  EXPECT_EQ(result.mwp, 8);
  // Thus 32 warps of 1280 B on each of 4 SMs take as long as 8 GB/s need for these bytes.
  EXPECT_EQ(result.cycles, 32 * 4 * 1280 / 8);
}

// Equations 10 to 15: averages are weighted by the number of waits.
TEST(HongKim, WeighsPeriodsByTheirNumber) {
  HongKimInput input;
  input.memory = {{3, 1, 40, 2}, {1, 4, 400, 20}};
  input.warps_per_block = 1;
  const HongKim result = hong_kim(input);
  EXPECT_EQ(result.mem_cycles, 3 * 40 + 460);
  EXPECT_EQ(result.mem_l, 145);
  EXPECT_EQ(result.departure_delay, (3 * 2 + 80) / 4.0);
}

// Transactions to one level do not wait for those to another.
TEST(HongKim, TakesTheDelayOfTheSlowestLevel) {
  HongKimInput input;
  input.memory = {{3, 1, 40, 2, "l1"}, {1, 4, 400, 20, "l2"}, {1, 1, 400, 10, "l2"}};
  const HongKim result = hong_kim(input);
  EXPECT_EQ(result.mem_l, (3 * 40 + 460 + 400) / 5.0);
  EXPECT_EQ(result.departure_delay, (80 + 10) / 5.0);
  EXPECT_EQ(result.delay_level, "l2");
}

TEST(HongKim, RepeatsForEveryWaveOfBlocks) {
  HongKimInput input = example_of_the_paper();
  input.grid_blocks = 800;
  EXPECT_NEAR(hong_kim(input).cycles, 10 * hong_kim(example_of_the_paper()).cycles, 1e-6);
  input.grid_blocks = 3;  // fewer blocks than one wave take as long as one
  EXPECT_EQ(hong_kim(input).repetitions, 1);
}

TEST(HongKim, NeedsNeitherMemoryNorComputation) {
  HongKimInput input;
  input.comp_cycles = 10;
  input.warps_per_block = 4;
  EXPECT_EQ(hong_kim(input).cycles, 40);
  EXPECT_EQ(hong_kim(input).which, Case::kCompute);
  EXPECT_EQ(hong_kim({}).cycles, 0);
  input.comp_cycles = 0;
  input.memory = {{1, 1, 700, 0}};
  EXPECT_TRUE(std::isinf(hong_kim(input).cwp_full));
  EXPECT_EQ(hong_kim(input).cycles, 700);
}

// If more transactions than one warp's do not fit at a time, they queue; the computation must not become negative.
TEST(HongKim, ComputesNothingTwiceWhereLessThanOneWarpFits) {
  HongKimInput input;
  input.memory = {{1, 1, 10, 100}};
  input.comp_cycles = 5;
  input.warps_per_block = 2;
  EXPECT_EQ(hong_kim(input).mwp, 0.1);
  EXPECT_EQ(hong_kim(input).cycles, 200);
}

// ---- Computation ----

// 128 lanes per clock issue a warp each quarter cycle; 16 warps, or 4 with an ILP of 4, hide a latency of 4 cycles.
TEST(ComputationCycles, AreIssueOrLatencyWhicheverIsLonger) {
  const std::vector<Work> fma = {{1000, 0.25, 4}};
  EXPECT_EQ(computation_cycles(fma, 1, 1), 4000);
  EXPECT_EQ(computation_cycles(fma, 1, 8), 500);
  EXPECT_EQ(computation_cycles(fma, 1, 16), 250);
  EXPECT_EQ(computation_cycles(fma, 1, 64), 250);
  EXPECT_EQ(computation_cycles(fma, 4, 4), 250);
  EXPECT_EQ(computation_cycles({{1000, 0.25, 4}, {100, 0.5, 0}}, 1, 64), 300);
  EXPECT_EQ(computation_cycles({}, 1, 64), 0);
}

// ---- Roofline ----

TEST(Roofline, PutsTheCeilingThatTakesLongestFirst) {
  const auto ceilings = roofline(
      {{"f32", "FLOP", 4e12, 4e13}, {"device", "B", 1e12, 4e12}, {"l2", "B", 2e12, 1e13}, {"f64", "FLOP", 0, 1}});
  ASSERT_EQ(ceilings.size(), 3u);
  EXPECT_EQ(ceilings[0].name, "device");
  EXPECT_EQ(ceilings[0].seconds(), 0.25);
  EXPECT_EQ(ceilings[1].name, "l2");
  EXPECT_EQ(ceilings[2].name, "f32");
  EXPECT_EQ(ceilings[2].seconds(), 0.1);
  EXPECT_EQ(intensity(ceilings, ceilings[0]), 4);
  EXPECT_EQ(intensity(ceilings, ceilings[1]), 2);
}

}  // namespace
}  // namespace gputopo::kernel_model
