// The simulation of an L2 that copies far lines, checked against observations on an H200.
#include <gtest/gtest.h>

#include <algorithm>

#include "device/sim/cache/homes.h"
#include "device/sim/machine/machine.h"
#include "device/sim/sim_device.h"

namespace gputopo::sim {
namespace {

constexpr double kCopiesNearCycles = 200;
constexpr double kCopiesFarCycles = 400;
constexpr double kCopiesMemoryCycles = 700;

MachineSpec copying_machine(bool copies = true) {
  MachineSpec spec;
  spec.info.vendor = "NVIDIA";
  spec.info.name = "copies";
  spec.info.sm_count = 8;
  CacheSpec l2{.id = "l2", .size_bytes = 1 << 20, .ways = 16, .scope = Scope::kGpu};
  l2.partitions = 2;
  l2.copies_far_lines = copies;
  spec.caches.push_back(l2);
  spec.spaces[Space::kGlobalBypassL1] = {.path = {{"l2", kCopiesNearCycles, kCopiesFarCycles}},
                                         .memory_latency_cycles = kCopiesMemoryCycles};
  spec.atomics["l2"] = {.latency_cycles = 210,
                        .one_address_latency_cycles = 300,
                        .lanes_per_cycle = 100,
                        .one_address_lanes_per_cycle = 1,
                        .far_latency_cycles = 420};
  return spec;
}

constexpr std::uint64_t kCopiedLines = 64;

// Steps of SM 0 (near the first partition) and SM 2 (near the second) over lines 4 KiB apart.
std::vector<StepResult> run_on(const MachineSpec& spec, std::vector<ChaseStep> steps) {
  ChaseProgram program;
  program.arrays = {{.space = Space::kGlobalBypassL1, .bytes = kCopiedLines * 4096, .stride_bytes = 4096}};
  program.actors = {{.sm = 0}, {.sm = 2}, {.sm = 1}};
  program.exclusive = true;
  for (ChaseStep& step : steps) step.loads = kCopiedLines;
  program.steps = std::move(steps);
  const std::unique_ptr<Device> device = make_sim_device(spec, 1, 1);
  const std::vector<Program> programs = {program};
  return std::get<ChaseResult>(device->run(programs).front().data).steps;
}

std::uint64_t count(const StepResult& step, double cycles) {
  return static_cast<std::uint64_t>(std::ranges::count(step.latencies, static_cast<std::uint32_t>(cycles)));
}

TEST(Copies, AFarLineIsFarOnceAndThenNear) {
  const auto steps = run_on(copying_machine(), {{.kind = StepKind::kWarm},
                                                {.kind = StepKind::kTimed},
                                                {.kind = StepKind::kTimed, .actor = 1},
                                                {.kind = StepKind::kTimed, .actor = 1},
                                                {.kind = StepKind::kTimed, .actor = 2}});
  EXPECT_EQ(count(steps[1], kCopiesNearCycles), kCopiedLines);
  EXPECT_EQ(count(steps[2], kCopiesNearCycles) + count(steps[2], kCopiesFarCycles), kCopiedLines);
  EXPECT_EQ(count(steps[2], kCopiesFarCycles), kCopiedLines / 2);  // lines whose home is on SM 0's side
  EXPECT_EQ(count(steps[3], kCopiesNearCycles), kCopiedLines);
  EXPECT_EQ(count(steps[4], kCopiesNearCycles), kCopiedLines);  // SM 1 is on SM 0's side
}

TEST(Copies, AStoreDropsTheOtherSidesCopies) {
  const auto steps = run_on(copying_machine(), {{.kind = StepKind::kWarm},
                                                {.kind = StepKind::kWarm, .actor = 1},
                                                {.kind = StepKind::kStore},
                                                {.kind = StepKind::kTimed, .actor = 1},
                                                {.kind = StepKind::kTimed}});
  EXPECT_EQ(count(steps[3], kCopiesFarCycles), kCopiedLines / 2);
  EXPECT_EQ(count(steps[4], kCopiesNearCycles), kCopiedLines);  // its own copies are kept up to date
}

TEST(Copies, AtomicsGoHome) {
  const auto steps = run_on(copying_machine(), {{.kind = StepKind::kWarm},
                                                {.kind = StepKind::kAtomic},
                                                {.kind = StepKind::kAtomic},
                                                {.kind = StepKind::kAtomic, .actor = 1}});
  EXPECT_EQ(count(steps[1], 210), kCopiedLines / 2);
  EXPECT_EQ(steps[1].latencies, steps[2].latencies);
  for (std::size_t i = 0; i < kCopiedLines; ++i) {
    EXPECT_EQ(steps[1].latencies[i] + steps[3].latencies[i], 210u + 420u) << i;
  }
}

TEST(Copies, WithoutThemAllIsFarOnTheOtherSide) {
  const auto steps =
      run_on(copying_machine(false), {{.kind = StepKind::kWarm}, {.kind = StepKind::kTimed, .actor = 1}});
  EXPECT_EQ(count(steps[1], kCopiesFarCycles), kCopiedLines);
}

TEST(Copies, MemoryIsFarWhereTheHomeIs) {
  MachineSpec spec = copying_machine();
  spec.spaces[Space::kGlobalBypassL1].far_memory_latency_cycles = 900;
  const auto steps = run_on(spec, {{.kind = StepKind::kTimed}});
  EXPECT_EQ(count(steps[0], kCopiesMemoryCycles), kCopiedLines / 2);
  EXPECT_EQ(count(steps[0], 900), kCopiedLines / 2);
}

// A contiguous array has its home in all partitions equally.
TEST(Homes, AreDealtOutEvenly) {
  for (const std::uint32_t partitions : {2u, 3u, 5u, 8u}) {
    CacheSpec l2{.id = "l2", .size_bytes = std::uint64_t{partitions} << 19, .ways = 16, .scope = Scope::kGpu};
    l2.partitions = partitions;
    MachineSpec spec;
    spec.caches = {l2};
    const HomeMap homes = homes_of(spec, l2);
    std::vector<std::uint64_t> lines(partitions);
    for (std::uint64_t address = 0; address < l2.size_bytes; address += 128) ++lines[homes.home_of(address)];
    for (const std::uint64_t count : lines) EXPECT_EQ(count, (1u << 19) / 128);
  }
}

}  // namespace
}  // namespace gputopo::sim
