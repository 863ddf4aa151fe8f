// How the simulated caches treat stores under each policy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/machine/machine.h"
#include "device/sim/sim_device.h"
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

constexpr std::uint64_t kArrayBytes = 1024;
constexpr std::uint64_t kElements = kArrayBytes / 32;

// L1 and L2 of one sector per line with default policies, modified by `change`.
MachineSpec machine_with(const std::function<void(CacheSpec& l1, CacheSpec& l2)>& change) {
  MachineSpec machine = test::two_level_machine();
  change(machine.caches[0], machine.caches[1]);
  return machine;
}

constexpr auto kNoChange = [](CacheSpec&, CacheSpec&) {};

// Latencies of array 0 (global) or 1 (the same data past L1) after these steps; array 2 evicts L2.
std::vector<std::uint32_t> load_after(const MachineSpec& machine, std::vector<ChaseStep> steps, std::uint32_t array) {
  ChaseProgram program;
  const ChaseArray global{.bytes = kArrayBytes, .stride_bytes = 32};
  ChaseArray past_l1 = global;
  past_l1.space = Space::kGlobalBypassL1;
  past_l1.alias_of = 0;
  program.arrays = {global, past_l1, {.space = Space::kGlobalBypassL1, .bytes = 4 * kL2Bytes, .stride_bytes = 128}};
  program.actors = {{}};
  program.steps = std::move(steps);
  program.steps.push_back({.kind = StepKind::kTimed, .array = array, .loads = kElements});
  const Program one = program;
  const auto device = make_sim_device(machine, 1);
  return std::get<ChaseResult>(device->run({&one, 1}).at(0).data).steps.back().latencies;
}

const ChaseStep kWarm{.kind = StepKind::kWarm, .loads = kElements};
const ChaseStep kStore{.kind = StepKind::kStore, .loads = kElements};
const ChaseStep kStorePastL1{.kind = StepKind::kStore, .array = 1, .loads = kElements};
const ChaseStep kEvictL2{.kind = StepKind::kTouch, .array = 2};

TEST(SimStores, PassAnL1AndStayInL2ByDefault) {
  const MachineSpec machine = machine_with(kNoChange);
  EXPECT_THAT(load_after(machine, {kStore}, 0), Each(kL2Cycles));
  EXPECT_THAT(load_after(machine, {kStore}, 1), Each(kL2Cycles));
  EXPECT_THAT(load_after(machine, {kStorePastL1}, 0), Each(kL2Cycles));
  EXPECT_THAT(load_after(machine, {kWarm, kStore}, 0), Each(kL1Cycles));
}

TEST(SimStores, BringTheLineInWhereTheCacheAllocates) {
  const MachineSpec machine = machine_with([](CacheSpec& l1, CacheSpec&) { l1.write_allocate = true; });
  EXPECT_THAT(load_after(machine, {kStore}, 0), Each(kL1Cycles));
  EXPECT_THAT(load_after(machine, {kStore}, 1), Each(kL2Cycles));
  const MachineSpec none = machine_with([](CacheSpec&, CacheSpec& l2) { l2.write_allocate = false; });
  EXPECT_THAT(load_after(none, {kStore}, 0), Each(kMemoryCycles));
}

TEST(SimStores, EvictTheLineThatTheyHitWhereTheCacheInvalidates) {
  const MachineSpec machine = machine_with([](CacheSpec& l1, CacheSpec&) { l1.store_hit = StoreHit::kInvalidate; });
  EXPECT_THAT(load_after(machine, {kWarm, kStore}, 0), Each(kL2Cycles));
  // Only the first line is evicted.
  EXPECT_EQ(load_after(machine, {kWarm, {.kind = StepKind::kStore, .loads = 1}}, 0).at(3), kL2Cycles);
  EXPECT_EQ(load_after(machine, {kWarm, {.kind = StepKind::kStore, .loads = 1}}, 0).at(4), kL1Cycles);
}

TEST(SimStores, ReachTheNextCacheOnlyWhereTheyAreWrittenThrough) {
  EXPECT_THAT(load_after(machine_with(kNoChange), {kWarm, kEvictL2, kStore}, 1), Each(kL2Cycles));
  const MachineSpec back = machine_with([](CacheSpec& l1, CacheSpec&) { l1.write_policy = WritePolicy::kBack; });
  EXPECT_THAT(load_after(back, {kWarm, kEvictL2, kStore}, 1), Each(kMemoryCycles));
  EXPECT_THAT(load_after(back, {kStore}, 1), Each(kL2Cycles)) << "nothing holds it nearer";
}

TEST(SimStores, OfWideSetsAndUnderEveryReplacement) {
  for (const std::uint32_t ways : {4u, 0u}) {
    for (const Replacement replacement : {Replacement::kLru, Replacement::kFifo, Replacement::kRandom}) {
      const MachineSpec machine = machine_with([&](CacheSpec& l1, CacheSpec&) {
        l1.store_hit = StoreHit::kInvalidate;
        l1.ways = ways;
        l1.replacement = replacement;
      });
      EXPECT_THAT(load_after(machine, {kWarm, kStore}, 0), Each(kL2Cycles)) << ways;
      EXPECT_THAT(load_after(machine, {kWarm, kStore, kWarm}, 0), Each(kL1Cycles)) << ways;
    }
  }
}

TEST(SimStores, KeepBothPartitionsInStep) {
  const MachineSpec machine = machine_with([](CacheSpec&, CacheSpec& l2) { l2.partitions = 2; });
  MachineSpec partitioned = machine;
  for (auto& [space, description] : partitioned.spaces) description.path.back().far_latency_cycles = 300;
  EXPECT_THAT(load_after(partitioned, {kStore}, 1), Each(300u)) << "the whole cache has it, no reader's copy yet";
  EXPECT_THAT(load_after(partitioned, {kWarm, kStore}, 1), Each(kL2Cycles));
}

// The second run of an equal program starts from the state that the first run had before its timed step.
TEST(SimStores, AreRolledBackWithTheCache) {
  const MachineSpec machine = machine_with([](CacheSpec& l1, CacheSpec&) { l1.store_hit = StoreHit::kInvalidate; });
  ChaseProgram program;
  program.arrays = {{.bytes = kArrayBytes, .stride_bytes = 32}};
  program.actors = {{}};
  program.steps = {{.kind = StepKind::kWarm, .loads = 64 * kElements},
                   {.kind = StepKind::kTimed, .loads = 4},
                   {.kind = StepKind::kStore, .loads = 4},
                   {.kind = StepKind::kTimed, .loads = 4}};
  const auto device = make_sim_device(machine, 1);
  for (const std::uint64_t cap : {3u, 4u, 2u}) {
    program.timed_cap = static_cast<std::uint32_t>(cap);
    const Program one = program;
    const auto result = std::get<ChaseResult>(device->run({&one, 1}).at(0).data);
    EXPECT_THAT(result.steps[1].latencies, Each(kL1Cycles));
    EXPECT_THAT(result.steps[3].latencies, Each(kL2Cycles));
    EXPECT_GT(result.steps[2].total_cycles, 0u);
  }
}

}  // namespace
}  // namespace gputopo::sim
