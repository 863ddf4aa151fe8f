// Chases, on every device: steps, actors, orders, and cached lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "conformance/device_conformance.h"

namespace gputopo::conformance {
namespace {

// Lines that one step loads are still cached in the next step, so its first loads take no longer than the later ones.
TEST_P(DeviceConformance, CachesStayFilledFromStepToStep) {
  on_device([](Device& device) {
    for (const Space space : device.info().spaces) {
      ChaseProgram program = chase(space, StepKind::kTimed, 160);
      program.timed_cap = 160;
      const std::vector<std::uint32_t> latencies = chase_of(run_one(device, program)).steps.back().latencies;
      ASSERT_EQ(latencies.size(), 160u);
      constexpr double kNoise = 1.15;
      EXPECT_LE(median({latencies.begin(), latencies.begin() + 16}),
                kNoise * median({latencies.begin() + 16, latencies.end()}))
          << to_string(space);
    }
  });
}

// Loads of another SM must not evict more of SM 0's lines than loads of SM 0 itself do.
TEST_P(DeviceConformance, ActorsOnSeveralSmsTakeTurns) {
  on_device([](Device& device) {
    const std::uint32_t sms = device.info().sm_count;
    if (sms < 3) GTEST_SKIP() << "the device has " << sms << " SMs";
    ChaseProgram program;
    program.arrays = {{.bytes = 4096, .stride_bytes = 64}, {.bytes = 1 << 20, .stride_bytes = 64}};
    program.actors = {{.sm = 0}, {.sm = 1}, {.sm = sms - 1}};
    program.exclusive = true;
    for (const std::uint32_t evictor : {1u, 2u, 0u}) {
      program.steps.push_back({.kind = StepKind::kWarm, .loads = 128});
      program.steps.push_back({.kind = StepKind::kCounted, .actor = evictor, .array = 1, .loads = 1 << 14});
      program.steps.push_back({.kind = StepKind::kCounted, .loads = 64});
    }
    const ChaseResult result = chase_of(run_one(device, program));
    ASSERT_EQ(result.steps.size(), 9u);
    EXPECT_EQ(result.sm, 0u);
    for (const std::size_t look : {2u, 5u, 8u}) {
      EXPECT_EQ(histogram_sum(result.steps[look - 1]), 1u << 14);
      EXPECT_EQ(histogram_sum(result.steps[look]), 64u);
      constexpr double kNoise = 1.5;
      EXPECT_LE(static_cast<double>(result.steps[look].total_cycles),
                kNoise * static_cast<double>(result.steps[8].total_cycles));
    }
  });
}

TEST_P(DeviceConformance, EveryStepHasItsShape) {
  on_device([](Device& device) {
    for (const Space space : device.info().spaces) {
      ChaseProgram program = chase(space, StepKind::kTimed, 100);
      program.timed_cap = 40;
      program.steps.push_back({.kind = StepKind::kTimed, .loads = 30});
      program.steps.push_back({.kind = StepKind::kCounted, .loads = 100});
      // No other thread can reach a thread's local memory, so a touch does not apply.
      program.steps.push_back(space == Space::kLocal ? ChaseStep{.loads = 16} : ChaseStep{.kind = StepKind::kTouch});
      const ChaseResult result = chase_of(run_one(device, program));
      ASSERT_EQ(result.steps.size(), 5u);
      const auto& [warm, capped, timed, counted, touched] =
          std::tie(result.steps[0], result.steps[1], result.steps[2], result.steps[3], result.steps[4]);
      EXPECT_EQ(warm.loads, 64u);
      EXPECT_TRUE(warm.latencies.empty());
      EXPECT_EQ(histogram_sum(warm), 0u);
      EXPECT_EQ(capped.latencies.size(), 40u);
      EXPECT_EQ(histogram_sum(capped), 100u);
      EXPECT_EQ(timed.latencies.size(), 30u);
      EXPECT_EQ(histogram_sum(timed), 30u);
      EXPECT_TRUE(counted.latencies.empty());
      EXPECT_EQ(histogram_sum(counted), 100u);
      EXPECT_EQ(touched.loads, 16u);
      EXPECT_EQ(histogram_sum(touched), 0u);
      for (const StepResult& step : result.steps) {
        EXPECT_GE(step.total_cycles, 1u) << to_string(space);
        EXPECT_LE(step.histogram.size(), kHistogramBins);
      }
    }
  });
}

// After a touch, the second quarter of an array is as near as elements that were just loaded.
TEST_P(DeviceConformance, PartsOfAnArrayAreTouched) {
  on_device([](Device& device) {
    constexpr std::uint64_t kElements = 64;
    constexpr std::uint64_t kPart = kElements / 4;
    for (const Space space : device.info().spaces) {
      if (space == Space::kConstant || space == Space::kShared) continue;  // always on the chip
      if (space == Space::kLocal) continue;                                // no thread can touch that of another
      ChaseProgram program;
      program.arrays = {{.space = space, .bytes = kElements * 512, .stride_bytes = 512}};
      program.actors = {{}};
      program.exclusive = true;
      program.steps = {{.kind = StepKind::kTouch, .loads = kPart, .first = kPart},
                       {.kind = StepKind::kTimed, .loads = kPart, .first = kPart},
                       {.kind = StepKind::kTimed, .loads = kPart, .first = kPart}};
      const ChaseResult result = chase_of(run_one(device, program));
      EXPECT_EQ(result.steps[0].loads, kPart);
      constexpr double kNoise = 1.3;
      EXPECT_LT(median(result.steps[1].latencies), kNoise * median(result.steps[2].latencies)) << to_string(space);
    }
  });
}

// A touch along a chain brings its elements as near as loads do, wherever they lie, and no other elements.
TEST_P(DeviceConformance, ElementsOfAChainAreTouched) {
  on_device([](Device& device) {
    for (const Space space : device.info().spaces) {
      if (space == Space::kConstant || space == Space::kShared) continue;  // always on the chip
      if (space == Space::kLocal) continue;                                // no thread can touch that of another
      ChaseProgram listed;
      listed.arrays = {{.space = space, .bytes = 64 * 4096, .stride_bytes = 512}};
      for (std::uint32_t i = 0; i < 24; ++i) listed.arrays[0].elements.push_back(i * 181 % 512);
      listed.actors = {{}};
      listed.exclusive = true;
      listed.steps = {{.kind = StepKind::kTouchChain, .loads = 16, .first = 8},
                      {.kind = StepKind::kTimed, .loads = 16, .first = 8},
                      {.kind = StepKind::kTimed, .loads = 16, .first = 8}};
      ChaseProgram shuffled = listed;
      shuffled.arrays = {{.space = space, .bytes = 24 * 512, .stride_bytes = 512, .order = Order::kShuffled}};
      for (const ChaseProgram& program : {listed, shuffled}) {
        const ChaseResult result = chase_of(run_one(device, program));
        EXPECT_EQ(result.steps[0].loads, 16u);
        EXPECT_GE(result.steps[0].total_cycles, 1u);
        constexpr double kNoise = 1.3;
        EXPECT_LT(median(result.steps[1].latencies), kNoise * median(result.steps[2].latencies)) << to_string(space);
      }
    }
  });
}

// A touch loads the elements at their staggered addresses.
TEST_P(DeviceConformance, StaggeredElementsAreTouched) {
  on_device([](Device& device) {
    for (const Space space : device.info().spaces) {
      if (space == Space::kConstant || space == Space::kShared) continue;  // always on the chip
      if (space == Space::kLocal) continue;                                // no thread can touch that of another
      ChaseProgram program;
      program.arrays = {{.space = space,
                         .bytes = 16 * 4096,
                         .stride_bytes = 4096,
                         .stagger_bytes = 256,
                         .stagger_window_bytes = 4096}};
      program.actors = {{}};
      program.exclusive = true;
      program.steps = {
          {.kind = StepKind::kTouch}, {.kind = StepKind::kTimed, .loads = 16}, {.kind = StepKind::kTimed, .loads = 16}};
      const ChaseResult result = chase_of(run_one(device, program));
      EXPECT_EQ(result.steps[0].loads, 16u);
      constexpr double kNoise = 1.3;
      EXPECT_LT(median(result.steps[1].latencies), kNoise * median(result.steps[2].latencies)) << to_string(space);
    }
  });
}

TEST_P(DeviceConformance, TheHistogramHoldsTheLatencies) {
  on_device([](Device& device) {
    ChaseProgram program = chase(Space::kGlobal, StepKind::kTimed, 500);
    program.timed_cap = 500;
    const StepResult step = chase_of(run_one(device, program)).steps.back();
    std::vector<std::uint32_t> histogram(kHistogramBins, 0);
    for (const std::uint32_t latency : step.latencies)
      ++histogram[std::min(latency / kHistogramBinCycles, kHistogramBins - 1)];
    std::vector<std::uint32_t> reported = step.histogram;
    reported.resize(kHistogramBins);
    EXPECT_EQ(reported, histogram);
  });
}

// 16 elements that were just loaded hit the nearest cache of their space, all at about the same latency.
TEST_P(DeviceConformance, WarmLoadsAreFastAndAlike) {
  on_device([](Device& device) {
    for (const Space space : device.info().spaces) {
      const StepResult timed = chase_of(run_one(device, chase(space, StepKind::kTimed, 256))).steps.back();
      const std::uint32_t middle = median(timed.latencies);
      EXPECT_GE(middle, 5u) << to_string(space) << ": no load is that fast";
      EXPECT_LT(middle, 1200u) << to_string(space);
      const auto alike = std::count_if(timed.latencies.begin(), timed.latencies.end(), [&](std::uint32_t latency) {
        return std::max(latency, middle) - std::min(latency, middle) <= 10 + middle / 5;
      });
      EXPECT_GE(alike, 240) << to_string(space) << " around " << middle;
    }
  });
}

TEST_P(DeviceConformance, UntimedLoadsTakeAboutAsLongAsTimedOnes) {
  on_device([](Device& device) {
    ChaseProgram program = chase(Space::kGlobal, StepKind::kTimed, 256);
    program.steps.insert(program.steps.begin() + 1, {.kind = StepKind::kWarm, .loads = 4096});
    const ChaseResult result = chase_of(run_one(device, program));
    const double per_load = static_cast<double>(result.steps[1].total_cycles) / 4096;
    EXPECT_LE(per_load, 1.2 * median(result.steps[2].latencies) + 10);
    EXPECT_GE(per_load, 5);
  });
}

TEST_P(DeviceConformance, BothChainsAndEveryOrderFollowTheWholeArray) {
  on_device([](Device& device) {
    for (const Order order : {Order::kSequential, Order::kReversed, Order::kShuffled}) {
      for (const std::uint32_t chain : {0u, 1u}) {
        ChaseProgram program = chase(Space::kGlobal, StepKind::kTimed, 64);
        program.arrays[0] = {.bytes = 64 * 256, .stride_bytes = 256, .order = order, .second_order = order, .seed = 5};
        program.steps = {{.kind = StepKind::kWarm, .loads = 64, .chain = chain},
                         {.kind = StepKind::kTimed, .loads = 64, .chain = chain, .first = 17}};
        const std::vector<std::uint32_t> latencies = chase_of(run_one(device, program)).steps[1].latencies;
        // One pass has loaded all 64 elements, so a second pass from another start meets no cold one.
        EXPECT_LT(*std::max_element(latencies.begin(), latencies.begin() + 32), 3000u);
        EXPECT_EQ(latencies.size(), 64u);
      }
    }
  });
}

TEST_P(DeviceConformance, ListedElementsAreLoadedInEveryOrder) {
  on_device([](Device& device) {
    for (const Order order : {Order::kSequential, Order::kReversed, Order::kShuffled}) {
      ChaseProgram program = chase(Space::kGlobal, StepKind::kTimed, 64);
      program.arrays[0] = {
          .bytes = 64 * 256, .stride_bytes = 256, .second_order = order, .elements = {60, 3, 4, 5, 17, 40, 41, 63}};
      program.steps = {{.kind = StepKind::kWarm, .loads = 8},
                       {.kind = StepKind::kTimed, .loads = 8, .chain = 1, .first = 5}};
      const std::vector<std::uint32_t> latencies = chase_of(run_one(device, program)).steps[1].latencies;
      EXPECT_EQ(latencies.size(), 8u);
      EXPECT_LT(*std::max_element(latencies.begin(), latencies.end()), 3000u);
    }
  });
}

// In local memory the second chain belongs to another lane, and both chains use the same lines.
TEST_P(DeviceConformance, LocalChainsFollowTheWholeArray) {
  on_device([](Device& device) {
    if (!has_space(device, Space::kLocal)) GTEST_SKIP() << "the device has no local loads";
    for (const Order order : {Order::kSequential, Order::kReversed, Order::kShuffled}) {
      ChaseProgram program = chase(Space::kLocal, StepKind::kTimed, 64);
      program.arrays[0].order = program.arrays[0].second_order = order;
      program.arrays.push_back(program.arrays[0]);
      program.arrays[1].elements = {3, 9, 4};
      program.actors = {{.warp = 1, .lane = 4}};
      program.steps = {{.kind = StepKind::kWarm, .loads = 16},
                       {.kind = StepKind::kTimed, .loads = 64, .chain = 1, .first = 7},
                       {.kind = StepKind::kTimed, .loads = 64},
                       {.kind = StepKind::kCounted, .array = 1, .loads = 8, .chain = 1, .first = 2}};
      const ChaseResult result = chase_of(run_one(device, program));
      ASSERT_EQ(result.steps.size(), 4u);
      constexpr double kNoise = 1.15;
      const auto first = result.steps[1].latencies.begin();
      EXPECT_LE(median({first, first + 16}), kNoise * median(result.steps[2].latencies));
      EXPECT_EQ(histogram_sum(result.steps[3]), 8u);
    }
    ChaseProgram narrow = chase(Space::kLocal, StepKind::kTimed, 16);
    narrow.arrays[0].stride_bytes = 64;
    EXPECT_THROW(static_cast<void>(run_one(device, narrow)), UsageError);
  });
}

TEST_P(DeviceConformance, ActorsOfAProgramShareItsArrays) {
  on_device([](Device& device) {
    ChaseProgram program = chase(Space::kGlobal, StepKind::kTimed, 16);
    const std::uint64_t warps = device.info().max_threads_per_block.value_or(1024) / device.info().warp_size;
    const auto last = static_cast<std::uint32_t>(std::min<std::uint64_t>(warps, 32) - 1);
    program.actors = {{.warp = 0}, {.warp = 3, .lane = 5}, {.warp = last, .lane = 31}};
    program.steps[0].actor = 2;
    program.steps[1].actor = 1;
    program.steps.push_back({.kind = StepKind::kCounted, .actor = 0, .loads = 16});
    EXPECT_EQ(chase_of(run_one(device, program)).steps.size(), 3u);
  });
}

TEST_P(DeviceConformance, AnAliasIsTheSameMemory) {
  on_device([](Device& device) {
    if (!has_space(device, Space::kGlobalBypassL1)) GTEST_SKIP() << "the device has no loads past L1";
    ChaseProgram program = chase(Space::kGlobal, StepKind::kTimed, 16);
    program.arrays.push_back(program.arrays[0]);
    program.arrays[1].space = Space::kGlobalBypassL1;
    program.arrays[1].alias_of = 0;
    program.steps[1].array = 1;
    EXPECT_EQ(chase_of(run_one(device, program)).steps[1].latencies.size(), 16u);
  });
}

// A store writes the old value, so both chains stay intact, also after a partial walk and when the alias reads it.
TEST_P(DeviceConformance, StoresLeaveTheLinksAsTheyAre) {
  on_device([](Device& device) {
    for (const Space space : {Space::kGlobal, Space::kGlobalBypassL1}) {
      if (!has_space(device, space)) continue;
      ChaseProgram program = chase(space, StepKind::kTimed, 64);
      program.arrays.push_back(program.arrays[0]);
      program.arrays[1].space = Space::kGlobal;
      program.arrays[1].alias_of = 0;
      program.actors = {{.warp = 2, .lane = 7}};
      program.steps = {{.kind = StepKind::kStore, .loads = 16},
                       {.kind = StepKind::kWarm, .loads = 40},
                       {.kind = StepKind::kWarm, .loads = 40, .chain = 1},
                       {.kind = StepKind::kStore, .loads = 5},
                       {.kind = StepKind::kTimed, .array = 1, .loads = 40},
                       {.kind = StepKind::kTimed, .array = 1, .loads = 40, .chain = 1, .first = 3},
                       {.kind = StepKind::kStore, .loads = 1},
                       {.kind = StepKind::kCounted, .loads = 40}};
      const ChaseResult result = chase_of(run_one(device, program));
      ASSERT_EQ(result.steps.size(), program.steps.size());
      for (std::size_t i = 0; i < program.steps.size(); ++i) {
        EXPECT_EQ(result.steps[i].loads, program.steps[i].loads);
        EXPECT_GT(result.steps[i].total_cycles, 0u) << "step " << i;
      }
      EXPECT_TRUE(result.steps[0].latencies.empty());
      EXPECT_TRUE(result.steps[0].histogram.empty());
      EXPECT_EQ(histogram_sum(result.steps[5]), 40u);
      EXPECT_EQ(histogram_sum(result.steps[7]), 40u);
    }
  });
}

// The second load of a pair hits data for which the first had to wait, or is as slow as the first.
TEST_P(DeviceConformance, PairsTellWhatOnlyTheFirstLoadWaitsFor) {
  on_device([](Device& device) {
    for (const Space space : {Space::kGlobal, Space::kGlobalBypassL1}) {
      if (!has_space(device, space)) continue;
      ChaseProgram program = chase(space, StepKind::kPaired, 64);
      program.actors = {{.warp = 1, .lane = 3}};
      program.steps = {{.kind = StepKind::kPaired, .loads = 48, .first = 5}, {.kind = StepKind::kPaired, .loads = 64}};
      const ChaseResult result = chase_of(run_one(device, program));
      for (std::size_t i = 0; i < program.steps.size(); ++i) {
        EXPECT_EQ(result.steps[i].loads, program.steps[i].loads);
        EXPECT_EQ(histogram_sum(result.steps[i]), program.steps[i].loads);
        EXPECT_GT(result.steps[i].total_cycles, 0u);
        EXPECT_TRUE(result.steps[i].latencies.empty());
      }
      // When warm, both loads hit and differ little as a rule.
      std::uint64_t alike = 0;
      constexpr std::uint32_t kZero = kPairedZeroCycles / kHistogramBinCycles;
      constexpr std::uint32_t kBins = 50;
      for (std::uint32_t bin = kZero - kBins; bin < kZero + kBins; ++bin) {
        if (bin < result.steps[1].histogram.size()) alike += result.steps[1].histogram[bin];
      }
      EXPECT_GE(alike, 48u) << to_string(space);
    }
    ChaseProgram elsewhere = chase(Space::kShared, StepKind::kPaired, 16);
    EXPECT_THROW(static_cast<void>(run_one(device, elsewhere)), UsageError);
  });
}

TEST_P(DeviceConformance, ImpossibleStoresAreUsageErrors) {
  on_device([](Device& device) {
    const ChaseProgram good = chase(Space::kGlobal, StepKind::kStore, 16);
    std::vector<ChaseProgram> impossible(4, good);
    impossible[0].arrays[0].order = Order::kShuffled;
    impossible[1].steps[1].loads = 17;
    impossible[2].steps[1].chain = 1;
    impossible[3].arrays[0].space = has_space(device, Space::kReadOnly) ? Space::kReadOnly : Space::kScalar;
    for (const ChaseProgram& program : impossible) {
      EXPECT_THROW(static_cast<void>(run_one(device, program)), UsageError);
    }
  });
}

}  // namespace
}  // namespace gputopo::conformance
