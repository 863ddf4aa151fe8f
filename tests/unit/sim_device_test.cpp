// The simulated device: every level, space and kind of noise shows in the results as the machine file says.
#include "device/sim/sim_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "device/sim/machine/machine.h"
#include "gputopo/device.h"
#include "support/two_level_machine.h"

namespace gputopo::sim {
namespace {

using test::kL1Bytes;
using test::kL1Cycles;
using test::kL2Bytes;
using test::kL2Cycles;
using test::kMemoryCycles;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// The two-level machine with more spaces, and bandwidths.
MachineSpec plain_machine() {
  MachineSpec machine = test::two_level_machine();
  machine.spaces[Space::kReadOnly] = machine.spaces[Space::kGlobal];
  machine.spaces[Space::kShared] = {{}, 25};
  machine.bandwidths["l1"] = {.read_bytes_per_second = 1e13};
  machine.bandwidths["l2"] = {.read_bytes_per_second = 4e12, .write_bytes_per_second = 2e12};
  machine.bandwidths["memory"] = {.read_bytes_per_second = 1e12, .write_bytes_per_second = 8e11};
  machine.bandwidths["shared"] = {.read_bytes_per_second = 1e13, .write_bytes_per_second = 1e13};
  return machine;
}

ChaseProgram chase(std::uint64_t bytes, std::uint64_t stride_bytes, Space space = Space::kGlobal) {
  ChaseProgram program;
  program.arrays = {{.space = space, .bytes = bytes, .stride_bytes = stride_bytes}};
  program.actors = {{}};
  return program;
}

ChaseResult run(Device& device, const ChaseProgram& program) {
  const Program one = program;
  return std::get<ChaseResult>(device.run({&one, 1}).at(0).data);
}

StreamResult run(Device& device, const StreamProgram& program) {
  const Program one = program;
  return std::get<StreamResult>(device.run({&one, 1}).at(0).data);
}

// The latencies of one timed pass after `warm_passes` passes of the same chain.
std::vector<std::uint32_t> timed_pass(Device& device, ChaseProgram program, std::uint64_t warm_passes) {
  const std::uint64_t count = program.arrays[0].element_count();
  if (warm_passes > 0) program.steps.push_back({.kind = StepKind::kWarm, .loads = warm_passes * count});
  program.steps.push_back({.kind = StepKind::kTimed, .loads = count});
  program.timed_cap = static_cast<std::uint32_t>(count);
  return run(device, program).steps.back().latencies;
}

TEST(SimDevice, EachLevelAnswersWithItsLatency) {
  const auto device = make_sim_device(plain_machine(), 1);
  EXPECT_THAT(timed_pass(*device, chase(kL1Bytes, 128), 1), Each(kL1Cycles));
  EXPECT_THAT(timed_pass(*device, chase(2 * kL1Bytes, 128), 1), Each(kL2Cycles));
  EXPECT_THAT(timed_pass(*device, chase(2 * kL2Bytes, 128), 1), Each(kMemoryCycles));
  EXPECT_THAT(timed_pass(*device, chase(kL1Bytes, 128), 0), Each(kMemoryCycles));
  EXPECT_THAT(timed_pass(*device, chase(kL1Bytes, 128, Space::kGlobalBypassL1), 1), Each(kL2Cycles));
  EXPECT_THAT(timed_pass(*device, chase(4096, 128, Space::kShared), 1), Each(25u));
}

TEST(SimDevice, AColdSectorIsAMissAndItsNeighbourlyElementIsNot) {
  const auto device = make_sim_device(plain_machine(), 1);
  EXPECT_THAT(timed_pass(*device, chase(128, 16), 0), ElementsAre(500, 30, 500, 30, 500, 30, 500, 30));
}

TEST(SimDevice, AReversedPassAfterALongWarmHitsTheCapacity) {
  const auto device = make_sim_device(plain_machine(), 1);
  ChaseProgram program = chase(4 * kL1Bytes, 128);
  const std::uint64_t count = program.arrays[0].element_count();
  program.steps = {{.kind = StepKind::kWarm, .loads = 2 * count},
                   {.kind = StepKind::kCounted, .loads = count, .chain = 1}};
  const StepResult counted = run(*device, program).steps[1];
  EXPECT_EQ(counted.histogram.at(static_cast<std::size_t>(kL1Cycles) / kHistogramBinCycles), kL1Bytes / 128);
}

TEST(SimDevice, StepsStartWhereTheySay) {
  const auto device = make_sim_device(plain_machine(), 1);
  ChaseProgram program = chase(1024, 128);
  program.steps = {{.kind = StepKind::kWarm, .loads = 2, .first = 7},  // elements 7 and 0
                   {.kind = StepKind::kTimed, .loads = 8}};
  EXPECT_THAT(run(*device, program).steps[1].latencies, ElementsAre(30, 500, 500, 500, 500, 500, 500, 30));
}

TEST(SimDevice, SkewMovesTheUpperHalf) {
  const auto device = make_sim_device(plain_machine(), 1);
  ChaseProgram program = chase(4 * 256, 256);
  program.arrays[0].skew_bytes = 128;
  program.arrays.push_back(program.arrays[0]);
  program.arrays[1].space = Space::kReadOnly;
  program.arrays[1].alias_of = 0;
  program.steps = {{.kind = StepKind::kTouch}, {.kind = StepKind::kTimed, .array = 1, .loads = 4}};
  const ChaseResult result = run(*device, program);
  EXPECT_EQ(result.steps[0].loads, 4u);
  EXPECT_THAT(result.steps[1].latencies, Each(kL1Cycles)) << "an alias sees what the other space loaded";
}

TEST(SimDevice, TheTimerAndTheLoopCostWhatTheMachineSays) {
  MachineSpec machine = plain_machine();
  machine.timer_cycles = 7;
  machine.loop_cycles = 2;
  const auto device = make_sim_device(machine, 1);
  ChaseProgram program = chase(1024, 128);
  program.steps = {
      {.kind = StepKind::kTouch}, {.kind = StepKind::kWarm, .loads = 100}, {.kind = StepKind::kTimed, .loads = 100}};
  const ChaseResult result = run(*device, program);
  EXPECT_EQ(result.steps[1].total_cycles, 100 * 30 + (4 + 6) * 2) << "four links one by one, the others sixteen a pass";
  EXPECT_THAT(result.steps[2].latencies, Each(37u));
}

TEST(SimDevice, InstancesBelongToWarps) {
  MachineSpec machine = plain_machine();
  machine.caches[0].instances = 2;
  const auto device = make_sim_device(machine, 1);
  ChaseProgram program = chase(1024, 128);
  program.actors = {{.warp = 0}, {.warp = 1}, {.warp = 2}};
  program.steps = {{.kind = StepKind::kWarm, .actor = 0, .loads = 8},
                   {.kind = StepKind::kTimed, .actor = 1, .loads = 8},
                   {.kind = StepKind::kTimed, .actor = 2, .loads = 8}};
  const ChaseResult result = run(*device, program);
  EXPECT_THAT(result.steps[1].latencies, Each(kL2Cycles));
  EXPECT_THAT(result.steps[2].latencies, Each(kL1Cycles));
}

TEST(SimDevice, SpacesThroughOneCacheEvictOneAnother) {
  const auto device = make_sim_device(plain_machine(), 1);
  ChaseProgram program = chase(kL1Bytes, 128);
  program.arrays.push_back({.space = Space::kReadOnly, .bytes = kL1Bytes, .stride_bytes = 128});
  const std::uint64_t count = kL1Bytes / 128;
  program.steps = {{.kind = StepKind::kWarm, .array = 0, .loads = count},
                   {.kind = StepKind::kWarm, .array = 1, .loads = count},
                   {.kind = StepKind::kTimed, .array = 0, .loads = count}};
  EXPECT_THAT(run(*device, program).steps[2].latencies, Each(kL2Cycles));
}

TEST(SimDevice, PartitionsAreNearThenFar) {
  MachineSpec machine = plain_machine();
  machine.caches[1].partitions = 2;
  for (const Space space : {Space::kGlobal, Space::kGlobalBypassL1, Space::kReadOnly}) {
    machine.spaces[space].path.back().far_latency_cycles = 350;
  }
  const auto device = make_sim_device(machine, 1);
  EXPECT_THAT(timed_pass(*device, chase(kL2Bytes / 2, 128, Space::kGlobalBypassL1), 1), Each(kL2Cycles));
  EXPECT_THAT(timed_pass(*device, chase(kL2Bytes, 128, Space::kGlobalBypassL1), 1), Each(350u));
  EXPECT_THAT(timed_pass(*device, chase(2 * kL2Bytes, 128, Space::kGlobalBypassL1), 1), Each(kMemoryCycles));
}

TEST(SimDevice, ATlbMissAddsItsCostBeyondTheSm) {
  MachineSpec machine = plain_machine();
  machine.tlbs = {{.page_bytes = 1 << 20, .entries = 4, .miss_cycles = 40},
                  {.page_bytes = 1 << 20, .entries = 16, .miss_cycles = 100}};
  const auto device = make_sim_device(machine, 1);
  EXPECT_THAT(timed_pass(*device, chase(4 << 20, 1 << 20, Space::kGlobalBypassL1), 2), Each(kL2Cycles));
  EXPECT_THAT(timed_pass(*device, chase(8 << 20, 1 << 20, Space::kGlobalBypassL1), 2), Each(kL2Cycles + 40));
  EXPECT_THAT(timed_pass(*device, chase(12 << 20, 1 << 20, Space::kGlobal), 0), Each(kMemoryCycles + 140));
  EXPECT_THAT(timed_pass(*device, chase(1 << 10, 128, Space::kGlobal), 1), Each(kL1Cycles));
}

TEST(SimDevice, TexturesAskTlbsOfTheirOwnWhereTheyHaveSome) {
  MachineSpec machine = plain_machine();
  machine.spaces[Space::kTexture] = machine.spaces[Space::kGlobal];
  machine.tlbs = {{.page_bytes = 1 << 20, .entries = 4, .miss_cycles = 40}};
  const auto passes = [&](Space space) {
    return timed_pass(*make_sim_device(machine, 1), chase(8 << 20, 1 << 18, space), 2);
  };
  EXPECT_EQ(passes(Space::kTexture), passes(Space::kGlobal));
  machine.texture_tlbs = {{.page_bytes = 1 << 18, .entries = 8, .miss_cycles = 70}};
  EXPECT_THAT(passes(Space::kTexture), Each(kMemoryCycles + 70));
  EXPECT_THAT(passes(Space::kGlobal), testing::Not(testing::Contains(kMemoryCycles + 70)));
}

TEST(SimDevice, ALargerFetchComesFromTheNextLevelWhole) {
  MachineSpec machine = plain_machine();
  machine.caches[0].sector_bytes = 128;
  const auto device = make_sim_device(machine, 1);
  // The array exceeds the L1, and all its lines are in the L2 although only the start of each was loaded.
  ChaseProgram program = chase(2 * kL1Bytes, 128);
  program.arrays.push_back({.space = Space::kGlobalBypassL1, .bytes = 2 * kL1Bytes, .stride_bytes = 128});
  program.arrays[1].alias_of = 0;
  program.steps = {{.kind = StepKind::kTouch}, {.kind = StepKind::kTimed, .array = 1, .loads = 4}};
  EXPECT_THAT(run(*device, program).steps[1].latencies, Each(kL2Cycles));
}

TEST(SimDevice, TheCarveOutIsTheNextThatFits) {
  MachineSpec machine = plain_machine();
  machine.caches[0].unified = true;
  machine.info.carve_outs_bytes = {0, 4096, 8192};
  const auto device = make_sim_device(machine, 1);
  ChaseProgram program = chase(kL1Bytes - 4096, 128);
  program.shared_carve_out_bytes = 100;
  const std::uint64_t count = program.arrays[0].element_count();
  program.steps = {{.kind = StepKind::kWarm, .loads = count}, {.kind = StepKind::kTimed, .loads = count}};
  const Program fits = program;
  program.shared_carve_out_bytes = 5000;
  const Program misses = program;
  const std::vector<Program> programs = {fits, misses};
  const std::vector<ProgramResult> results = device->run(programs);
  EXPECT_EQ(results[0].shared_carve_out_bytes, 4096u);
  EXPECT_THAT(std::get<ChaseResult>(results[0].data).steps[1].latencies, Each(kL1Cycles));
  EXPECT_EQ(results[1].shared_carve_out_bytes, 8192u);
  EXPECT_THAT(std::get<ChaseResult>(results[1].data).steps[1].latencies, testing::Contains(kL2Cycles));
}

TEST(SimDevice, SharedArraysTakeTheirCarveOut) {
  MachineSpec machine = plain_machine();
  machine.caches[0].unified = true;
  machine.info.carve_outs_bytes = {0, 4096, 8192};
  const auto device = make_sim_device(machine, 1);
  ChaseProgram program = chase(6000, 16, Space::kShared);
  program.steps = {{.kind = StepKind::kWarm, .loads = 1}};
  const Program one = program;
  EXPECT_EQ(device->run({&one, 1})[0].shared_carve_out_bytes, 8192u);
  program.arrays[0].bytes = 9000;
  const Program large = program;
  EXPECT_THROW(static_cast<void>(device->run({&large, 1})), NotSupportedError);
}

TEST(SimDevice, RefusesWhatTheMachineLacks) {
  const auto device = make_sim_device(plain_machine(), 1);
  const auto message_of = [&](const Program& program) {
    try {
      static_cast<void>(device->run({&program, 1}));
      return std::string("answered");
    } catch (const NotSupportedError& error) {
      return std::string(error.what());
    }
  };
  ChaseProgram texture = chase(1024, 128, Space::kTexture);
  texture.steps = {{.kind = StepKind::kTouch}};
  EXPECT_THAT(message_of(texture), HasSubstr("no memory space 'texture'"));
  ChaseProgram large = chase(1ull << 36, 1 << 20);
  large.steps = {{.kind = StepKind::kWarm, .loads = 1}};
  EXPECT_THAT(message_of(large), HasSubstr("exceeds the"));
  ChaseProgram sm = chase(1024, 128);
  sm.steps = {{.kind = StepKind::kTouch}};
  sm.exclusive = true;
  sm.sm = 4;
  EXPECT_THAT(message_of(sm), HasSubstr("no SM 4"));
}

TEST(SimDevice, SpreadsSharedProgramsAndHonoursTheSm) {
  const auto device = make_sim_device(plain_machine(), 1);
  ChaseProgram program = chase(1024, 128);
  program.steps = {{.kind = StepKind::kTouch}};
  std::vector<Program> programs(6, program);
  program.exclusive = true;
  program.sm = 2;
  programs.push_back(program);
  std::vector<std::uint32_t> sms;
  for (const ProgramResult& result : device->run(programs)) sms.push_back(std::get<ChaseResult>(result.data).sm);
  EXPECT_THAT(sms, ElementsAre(0, 1, 2, 3, 0, 1, 2));
}

TEST(SimNoise, JitterAndOutliersHaveTheirSize) {
  MachineSpec machine = plain_machine();
  machine.noise = {.jitter_cycles = 2, .outlier_probability = 0.01, .outlier_cycles = 300};
  const auto device = make_sim_device(machine, 5);
  ChaseProgram program = chase(1024, 128);
  const std::uint32_t loads = 100000;
  program.steps = {{.kind = StepKind::kTouch}, {.kind = StepKind::kTimed, .loads = loads}};
  program.timed_cap = loads;
  double sum = 0;
  double squares = 0;
  std::uint32_t ordinary = 0;
  std::uint32_t outliers = 0;
  const ChaseResult result = run(*device, program);
  for (const std::uint32_t latency : result.steps[1].latencies) {
    if (latency > 45) {
      ++outliers;
      continue;
    }
    ++ordinary;
    sum += latency;
    squares += double{1} * latency * latency;
  }
  const double mean = sum / ordinary;
  EXPECT_NEAR(mean, kL1Cycles, 0.1);
  EXPECT_NEAR(squares / ordinary - mean * mean, 4, 0.4);
  EXPECT_NEAR(outliers, 0.01 * loads, 0.002 * loads);
}

TEST(SimNoise, DriftIsSlow) {
  MachineSpec machine = plain_machine();
  machine.noise.drift_fraction = 0.1;
  const auto device = make_sim_device(machine, 5);
  double largest = 0;
  for (int i = 0; i < 400; ++i) {
    const auto latencies = timed_pass(*device, chase(2 * kL2Bytes, 1 << 20), 0);
    largest = std::max(largest, static_cast<double>(latencies[0]));
    if (i == 0) {
      EXPECT_EQ(latencies[0], kMemoryCycles);
    }
  }
  EXPECT_EQ(largest, 1.1 * kMemoryCycles);
}

// The end of the chain stays resident, wherever it lies.
TEST(SimDevice, ATouchOfAChainKeepsItsOrder) {
  const auto device = make_sim_device(plain_machine(), 5);
  ChaseProgram program = chase(4 * kL1Bytes, 32);
  ChaseArray& array = program.arrays[0];
  array.order = Order::kShuffled;
  const std::uint64_t n = array.element_count();
  const std::uint64_t held = n / 8;
  program.steps = {{.kind = StepKind::kTouchChain, .loads = n},
                   {.kind = StepKind::kCounted, .loads = held, .first = n - held}};
  const ChaseProgram walked = [&] {
    ChaseProgram same = program;
    same.steps[0].kind = StepKind::kWarm;
    return same;
  }();
  EXPECT_EQ(run(*device, program).steps[1].histogram, run(*device, walked).steps[1].histogram);
  EXPECT_LT(run(*device, program).steps[0].total_cycles, run(*device, walked).steps[0].total_cycles / 100);
}

TEST(SimNoise, ANeighbourDisturbsItsPrograms) {
  MachineSpec machine = plain_machine();
  machine.noise = {.outlier_cycles = 1000, .interference_probability = 1};
  const auto device = make_sim_device(machine, 5);
  ChaseProgram program = chase(1024, 128);
  program.steps = {{.kind = StepKind::kTouch}, {.kind = StepKind::kTimed, .loads = 10000}};
  program.timed_cap = 10000;
  const std::vector<std::uint32_t> latencies = run(*device, program).steps[1].latencies;
  const auto outliers = std::count_if(latencies.begin(), latencies.end(), [](std::uint32_t l) { return l > 31; });
  EXPECT_NEAR(static_cast<double>(outliers), 500, 100);
}

TEST(SimNoise, TheSeedDecides) {
  MachineSpec machine = plain_machine();
  machine.noise.jitter_cycles = 3;
  const auto latencies_of = [&](std::uint64_t seed) {
    const auto device = make_sim_device(machine, seed);
    return timed_pass(*device, chase(kL1Bytes, 32), 1);
  };
  EXPECT_EQ(latencies_of(1), latencies_of(1));
  EXPECT_NE(latencies_of(1), latencies_of(2));
}

// Programs that begin alike or are equal share work inside the device. Their results must not depend on it.
TEST(SimDevice, AnswersDoNotDependOnThreadsNorOnWhatRanBefore) {
  for (const Replacement replacement : {Replacement::kLru, Replacement::kTreePlru, Replacement::kRandom,
                                        Replacement::kFifo, Replacement::kSegmentedLru, Replacement::kSrrip}) {
    MachineSpec machine = plain_machine();
    machine.noise = {
        .jitter_cycles = 1, .outlier_probability = 0.01, .outlier_cycles = 100, .interference_probability = 0.1};
    for (CacheSpec& cache : machine.caches) {
      cache.replacement = replacement;
      if (replacement == Replacement::kSegmentedLru) cache.protected_ways = 1;
    }
    std::vector<Program> programs;
    for (std::uint64_t i = 0; i < 60; ++i) {
      const bool touches = i >= 30;  // each touches slightly more, so it begins like the previous one
      ChaseProgram program = chase(2 * kL1Bytes * (1 + i / (touches ? 2 : 20)), 32);
      program.arrays[0].second_order = Order::kShuffled;
      program.arrays[0].seed = i / 3;  // each three times
      program.steps = {
          {.kind = touches ? StepKind::kTouch : StepKind::kWarm, .loads = program.arrays[0].element_count()},
          {.kind = StepKind::kCounted, .loads = 100, .chain = 1},
          {.kind = StepKind::kTimed, .loads = 100, .first = i % 3}};
      programs.emplace_back(program);
    }
    const std::vector<ProgramResult> together = make_sim_device(machine, 5, 3)->run(programs);
    const auto one_by_one = make_sim_device(machine, 5, 1);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      // Noise depends on the position, so a separate device first runs other programs, which share nothing with this
      // one.
      const auto alone = make_sim_device(machine, 5, 1);
      ChaseProgram other = chase(128, 128);
      other.steps = {{.kind = StepKind::kWarm, .loads = 1}};
      static_cast<void>(alone->run(std::vector<Program>(i, other)));
      EXPECT_EQ(alone->run({&programs[i], 1}).at(0), together[i]) << "program " << i;
      EXPECT_EQ(one_by_one->run({&programs[i], 1}).at(0), together[i]) << "program " << i;
    }
  }
}

StreamProgram stream(StreamOp op, std::uint64_t bytes, bool per_block = false) {
  return {.op = op, .bytes = bytes, .per_block = per_block};
}

double rate(Device& device, const StreamProgram& program) {
  const StreamResult result = run(device, program);
  return static_cast<double>(result.bytes_moved) / result.seconds;
}

TEST(SimStream, TheSmallestLevelThatHoldsItServesIt) {
  const auto device = make_sim_device(plain_machine(), 1);
  EXPECT_NEAR(rate(*device, stream(StreamOp::kRead, kL1Bytes, true)), 1e13, 1e9);
  EXPECT_NEAR(rate(*device, stream(StreamOp::kRead, kL2Bytes)), 4e12, 1e9);
  EXPECT_NEAR(rate(*device, stream(StreamOp::kRead, 2 * kL2Bytes)), 1e12, 1e9);
  EXPECT_NEAR(rate(*device, stream(StreamOp::kWrite, 2 * kL2Bytes)), 8e11, 1e9);
  EXPECT_NEAR(rate(*device, stream(StreamOp::kWrite, kL1Bytes, true)), 2e12, 1e9) << "L1 takes no writes";
}

TEST(SimStream, CountsWhatItMoves) {
  const auto device = make_sim_device(plain_machine(), 1);
  StreamProgram program = stream(StreamOp::kCopy, 4 << 20);
  program.repeats = 3;
  const StreamResult copy = run(*device, program);
  EXPECT_EQ(copy.bytes_moved, 2u * 3 * (4 << 20));
  EXPECT_NEAR(copy.seconds, 3 * (4 << 20) * (1 / 1e12 + 1 / 8e11), 1e-9);
  EXPECT_NEAR(copy.cycles, copy.seconds * 1e9, 1);
  StreamProgram per_block = stream(StreamOp::kRead, 4096, true);
  per_block.blocks_per_sm = 2;
  EXPECT_EQ(run(*device, per_block).bytes_moved, 4096u * 2 * 4);
}

// Memory reads 1 TB/s and writes 0.8 TB/s; L2 writes 4 TB/s.
TEST(SimStream, WritesThatStayInL2DoNotSlowReadsFromMemory) {
  MachineSpec machine = plain_machine();
  machine.bandwidths["l2"].write_bytes_per_second = 4e12;
  StreamProgram copy = stream(StreamOp::kCopy, 8 * kL2Bytes);
  copy.write_span_bytes = kL2Bytes / 4;
  const auto read_seconds = static_cast<double>(copy.bytes) / 1e12;
  const StreamResult back = run(*make_sim_device(machine, 1), copy);
  EXPECT_EQ(back.bytes_moved, 2 * copy.bytes);
  EXPECT_NEAR(back.seconds, read_seconds, 1e-9);
  for (CacheSpec& cache : machine.caches) cache.write_policy = WritePolicy::kThrough;
  EXPECT_NEAR(run(*make_sim_device(machine, 1), copy).seconds, read_seconds * (1 + 1 / 0.8), 1e-9);
}

TEST(SimStream, FewBytesInFlightReachLess) {
  MachineSpec machine = plain_machine();
  machine.bandwidths["memory"].half_bytes_in_flight = 4.0 * 1024 * 16 * 4;
  const auto device = make_sim_device(machine, 1);
  EXPECT_NEAR(rate(*device, stream(StreamOp::kRead, 64 << 20)), 5e11, 1e9);
}

TEST(SimStream, RefusesALevelWithoutABandwidth) {
  MachineSpec machine = plain_machine();
  machine.bandwidths.erase("memory");
  const auto device = make_sim_device(machine, 1);
  const Program program = stream(StreamOp::kRead, 64 << 20);
  EXPECT_THROW(static_cast<void>(device->run({&program, 1})), NotSupportedError);
}

}  // namespace
}  // namespace gputopo::sim
