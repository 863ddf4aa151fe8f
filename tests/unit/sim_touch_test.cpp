// The simulator computes what a touch of new memory leaves without simulating every load, and the effect of a chain
// that goes round repeatedly without following it to the end. Neither may change a result.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/sim/machine/random.h"
#include "device/sim/machine_file.h"
#include "device/sim/memory/hierarchy.h"
#include "device/sim/memory/noise.h"
#include "device/sim/memory/simulator.h"
#include "support/random_machine.h"
#include "support/wide_machine.h"

namespace gputopo::sim {
namespace {

// Loads by latency, in the order in which each latency first occurs, because noise is drawn by class. Then an entry for
// each load whose latency is kept.
using TouchCounts = std::vector<std::pair<double, std::uint64_t>>;

TouchCounts counts_of(const StepBehaviour& step) {
  TouchCounts counts;
  for (const LoadClass& loads : step.classes) counts.emplace_back(loads.cycles, loads.count);
  for (const std::uint8_t of_load : step.first_loads) counts.emplace_back(step.classes[of_load].cycles, 1);
  return counts;
}

// The counts of each step, simulated load by load.
std::vector<TouchCounts> one_after_another(const MachineSpec& machine, const ChaseProgram& program) {
  const std::vector<std::uint64_t> bases = place_arrays(program);
  Hierarchy hierarchy(machine);
  hierarchy.start_program(0, 1);
  std::vector<TouchCounts> counts;
  for (const ChaseStep& step : program.steps) {
    const ChaseArray& array = program.arrays[step.array];
    const bool is_touch = step.kind == StepKind::kTouch;
    const std::uint64_t loads = is_touch ? touched_elements(array, step) : step.loads;
    std::vector<Path> paths;
    for (std::uint32_t warp = 0; warp < (is_touch ? kTouchThreads / 32 : 1); ++warp) {
      paths.push_back(is_touch ? hierarchy.overlapping_path_of(array.space, warp, 0, 0)
                               : hierarchy.path_of(array.space, warp));
    }
    const std::uint64_t kept = keeps_latencies(step.kind) ? std::min<std::uint64_t>(loads, program.timed_cap) : 0;
    StepBehaviour of_step;
    for (std::uint64_t i = 0; i < loads; ++i) {
      const std::uint64_t address = bases[step.array] + array.element_offset((step.first + i) % array.element_count());
      of_step.add(hierarchy.load(paths[i / 32 % paths.size()], address), false, kept);
    }
    counts.push_back(counts_of(of_step));
  }
  return counts;
}

std::vector<TouchCounts> of_simulator(Simulator& simulator, const ChaseProgram& program) {
  Noise noise(NoiseSpec{}, 1, 1, std::nullopt);
  std::vector<TouchCounts> counts;
  for (const StepBehaviour& step : simulator.run(program, 0, 1, noise)) counts.push_back(counts_of(step));
  return counts;
}

// A small array before and after touches of a large one, from half to twice the largest cache unless that takes too
// many loads; the resident part of both is counted.
ChaseProgram drawn_program(const MachineSpec& machine, Space space, RandomSource& random) {
  std::uint64_t largest_bytes = 0;
  for (const CacheSpec& cache : machine.caches) largest_bytes = std::max(largest_bytes, cache.size_bytes);
  const std::uint64_t stride_bytes = std::uint64_t{32} << random.below(4);
  const std::uint64_t loads =
      std::min<std::uint64_t>(60000, largest_bytes / 2 * (1 + random.below(4)) / stride_bytes) + random.below(100);
  ChaseProgram program;
  program.actors = {{}};
  program.arrays = {{.space = space, .bytes = 64u << random.below(10), .stride_bytes = 32},
                    {.space = space, .bytes = loads * stride_bytes, .stride_bytes = stride_bytes}};
  const ChaseStep small{.kind = StepKind::kWarm, .array = 0, .loads = program.arrays[0].element_count()};
  const ChaseStep touch{.kind = StepKind::kTouch, .array = 1, .loads = loads};
  const std::uint64_t first = random.below(static_cast<std::uint32_t>(loads));
  const ChaseStep rest{
      .kind = StepKind::kCounted, .array = 1, .loads = std::min<std::uint64_t>(loads / 4, 20000), .first = first};
  ChaseStep small_again = small;
  small_again.kind = StepKind::kCounted;
  if (random.below(2) == 0) program.steps.push_back(small);
  program.steps.push_back(touch);
  if (random.below(2) == 0) program.steps.push_back(touch);
  if (random.below(2) == 0) program.steps.push_back(small_again);
  if (random.below(3) == 0) program.steps.push_back(touch);
  program.steps.push_back(rest);
  program.steps.push_back(small_again);
  if (random.below(3) == 0) program.steps.push_back(touch);
  program.steps.push_back(rest);
  return program;
}

// Returns the number of spaces in which the end of a touch determines its result.
int expect_no_difference(const MachineSpec& machine, RandomSource& random) {
  Simulator simulator(machine);
  int told = 0;
  for (const auto& [space, unused] : machine.spaces) {
    if (space == Space::kLocal || space == Space::kShared) continue;
    SCOPED_TRACE(to_string(space));
    ChaseProgram program = drawn_program(machine, space, random);
    Hierarchy hierarchy(machine);
    hierarchy.start_program(0, 1);
    const Path path = hierarchy.path_of(space, 0);
    const ChaseArray& touched = program.arrays[1];
    const NewWalk walk{place_arrays(program)[1], touched.stride_bytes, touched.element_count()};
    told += Hierarchy::fill_back_bytes(path, true, walk) ? 1 : 0;
    EXPECT_EQ(of_simulator(simulator, program), one_after_another(machine, program));
    // The same with one more step, so that programs with a common beginning differ afterwards.
    program.steps.push_back(program.steps.front());
    EXPECT_EQ(of_simulator(simulator, program), one_after_another(machine, program)) << "one step more";
  }
  return told;
}

TEST(SimTouch, OfNewMemoryIsLoadAfterLoad) {
  RandomSource random(11);
  int told = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(fmt::format("machine {}", seed));
    told += expect_no_difference(truth::random_machine(seed), random);
    told += expect_no_difference(truth::wide_machine(seed), random);
  }
  EXPECT_GT(told, 10);
}

// On the first two, a miss fetches several sectors of the next cache; the third has partitions.
TEST(SimTouch, OfNewMemoryOfKnownGpusIsLoadAfterLoad) {
  RandomSource random(13);
  for (const char* name : {"c2070", "gtx780", "h200", "mi300x"}) {
    SCOPED_TRACE(name);
    for (int i = 0; i < 2; ++i) EXPECT_GT(expect_no_difference(parse_machine(*builtin_machine(name)), random), 0);
  }
}

// An H200 whose L2 is small enough to be filled several times.
MachineSpec with_small_l2(RandomSource& random) {
  MachineSpec machine = parse_machine(*builtin_machine("h200"));
  CacheSpec& l2 = *std::ranges::find(machine.caches, "l2", &CacheSpec::id);
  l2.ways = 4u << random.below(3);
  l2.size_bytes = std::uint64_t{l2.ways} * l2.line_bytes * 2 * (32 + random.below(500));
  l2.copies_far_lines = random.below(2) == 0;
  return machine;
}

TEST(SimTouch, OfNewMemoryThatFillsPartitionsIsLoadAfterLoad) {
  RandomSource random(17);
  for (int i = 0; i < 16; ++i) {
    SCOPED_TRACE(i);
    EXPECT_GT(expect_no_difference(with_small_l2(random), random), 0);
  }
}

// One simulator runs programs that begin alike, with others between them.
TEST(SimTouch, DoesNotDependOnWhatRanBefore) {
  RandomSource random(14);
  const MachineSpec machine = parse_machine(*builtin_machine("h200"));
  Simulator simulator(machine);
  for (int i = 0; i < 12; ++i) {
    const std::uint64_t bytes = std::uint64_t{1} << (20 + i % 4);
    ChaseProgram program;
    program.actors = {{}};
    program.arrays = {{.space = Space::kGlobalBypassL1, .bytes = bytes, .stride_bytes = 128},
                      {.space = Space::kGlobalBypassL1, .bytes = 160u << 20, .stride_bytes = 512}};
    const ChaseStep small{.kind = StepKind::kTouch, .array = 0, .loads = program.arrays[0].element_count()};
    const ChaseStep large{.kind = StepKind::kTouch, .array = 1, .loads = program.arrays[1].element_count()};
    const ChaseStep look{.kind = StepKind::kCounted, .array = 0, .loads = 1000};
    program.steps = {small, look};
    if (random.below(2) == 0) program.steps.push_back(large);
    if (random.below(2) == 0) program.steps.push_back(large);
    program.steps.push_back(look);
    EXPECT_EQ(of_simulator(simulator, program), one_after_another(machine, program)) << i;
  }
}

// A touch that continues where a shorter one has ended, as in programs of growing footprints.
TEST(SimTouch, GoesOnWhereAnotherEnded) {
  RandomSource random(12);
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const MachineSpec machine = seed <= 16 ? truth::wide_machine(seed) : with_small_l2(random);
    Simulator simulator(machine);
    std::uint64_t bytes = 1000;
    for (int i = 0; i < 8; ++i) {
      bytes = bytes * (3 + random.below(5)) / 2;
      const ChaseArray array{
          .space = Space::kGlobal, .bytes = std::min<std::uint64_t>(bytes, 6u << 20), .stride_bytes = 64};
      ChaseProgram program;
      program.actors = {{}};
      program.arrays = {array};
      program.steps = {{.kind = StepKind::kTouch, .loads = array.element_count()},
                       {.kind = StepKind::kCounted, .loads = array.element_count() / 4}};
      ASSERT_EQ(of_simulator(simulator, program), one_after_another(machine, program))
          << "machine " << seed << ", " << array.bytes << " bytes";
    }
  }
}

// Two arrays of at most this many elements, each walked repeatedly, in turn.
ChaseProgram drawn_rounds(Space space, std::uint32_t most_elements, RandomSource& random) {
  ChaseProgram program;
  program.actors = {{}};
  program.timed_cap = 700;
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t stride_bytes = std::uint64_t{32} << random.below(4);
    program.arrays.push_back(
        {.space = space, .bytes = (1 + random.below(most_elements)) * stride_bytes, .stride_bytes = stride_bytes});
  }
  for (const StepKind kind : {StepKind::kWarm, StepKind::kCounted, StepKind::kTimed, StepKind::kCounted}) {
    const std::uint32_t array = random.below(2);
    const auto elements = static_cast<std::uint32_t>(program.arrays[array].element_count());
    const std::uint64_t loads = std::max(600u, (1 + random.below(9)) * elements) + random.below(elements);
    program.steps.push_back({.kind = kind, .array = array, .loads = loads, .first = random.below(elements)});
  }
  return program;
}

void expect_no_difference_of_rounds(const MachineSpec& machine, RandomSource& random) {
  Simulator simulator(machine);
  for (const auto& [space, unused] : machine.spaces) {
    if (space == Space::kLocal || space == Space::kShared) continue;
    SCOPED_TRACE(to_string(space));
    for (const std::uint32_t most_elements : {20u, 300u, 3000u}) {
      const ChaseProgram program = drawn_rounds(space, most_elements, random);
      EXPECT_EQ(of_simulator(simulator, program), one_after_another(machine, program)) << most_elements;
    }
  }
}

TEST(SimRounds, AreLoadAfterLoad) {
  RandomSource random(15);
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(fmt::format("machine {}", seed));
    expect_no_difference_of_rounds(truth::random_machine(seed), random);
    expect_no_difference_of_rounds(truth::wide_machine(seed), random);
  }
}

// The second has sets of 96 ways, the last two have partitions and dies.
TEST(SimRounds, OfKnownGpusAreLoadAfterLoad) {
  RandomSource random(16);
  for (const char* name : {"gtx780", "k20c", "h200", "mi300x"}) {
    SCOPED_TRACE(name);
    for (int i = 0; i < 4; ++i) expect_no_difference_of_rounds(parse_machine(*builtin_machine(name)), random);
  }
}

}  // namespace
}  // namespace gputopo::sim
