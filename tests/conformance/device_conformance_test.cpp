// What every Device must do, whatever it is: simulated machines, a recording, a real GPU where there is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include "gputopo/device.h"
#include "support/command.h"

namespace gputopo {
namespace {

using testing::Each;
using testing::Le;

constexpr std::uint64_t kSeed = 11;

struct Candidate {
  std::string name;
  std::string spec;       // of open_device()
  bool replayed = false;  // a recording of that device answers
  bool hardware = false;
};

void PrintTo(const Candidate& candidate, std::ostream* out) { *out << candidate.name; }

class DeviceConformance : public testing::TestWithParam<Candidate> {
 protected:
  // Calls check with the device; for a replay, first with the device that is recorded and then with the recording of
  // it.
  void on_device(const std::function<void(Device&)>& check) {
    std::unique_ptr<Device> device = open();
    if (device == nullptr) GTEST_SKIP() << "no GPU: " << problem_;
    if (!GetParam().replayed) return check(*device);
    Recorder recorder(std::move(device));
    check(recorder);
    const test::TemporaryFolder folder;
    recorder.save(folder.file("recording"));
    check(*open_device("replay:" + folder.file("recording"), kSeed));
  }

 private:
  std::unique_ptr<Device> open() {
    try {
      return open_device(GetParam().spec, kSeed);
    } catch (const DeviceError& error) {
      if (!GetParam().hardware) throw;
      problem_ = error.what();
      return nullptr;
    }
  }

  std::string problem_;
};

INSTANTIATE_TEST_SUITE_P(All, DeviceConformance,
                         testing::Values(Candidate{"sim_h200", "sim:h200"}, Candidate{"sim_p6000", "sim:p6000"},
                                         Candidate{"sim_k20c", "sim:k20c"}, Candidate{"sim_gt200", "sim:gt200"},
                                         Candidate{"sim_mi210", "sim:mi210"}, Candidate{"sim_mi300x", "sim:mi300x"},
                                         Candidate{"replay_h200", "sim:h200", true},
                                         Candidate{"replay_mi300x", "sim:mi300x", true},
                                         Candidate{"cuda_0", "cuda:0", false, true},
                                         Candidate{"hip_0", "hip:0", false, true}),
                         [](const auto& candidate) { return candidate.param.name; });

bool has_space(const Device& device, Space space) {
  const auto& spaces = device.info().spaces;
  return std::find(spaces.begin(), spaces.end(), space) != spaces.end();
}

// One actor warms an array and follows it: `kind` is of the last step.
ChaseProgram chase(Space space, StepKind kind, std::uint64_t loads) {
  ChaseProgram program;
  program.arrays = {{.space = space, .bytes = 1024, .stride_bytes = 64}};
  program.actors = {{}};
  program.steps = {{.kind = StepKind::kWarm, .loads = 64}, {.kind = kind, .loads = loads}};
  return program;
}

const ChaseResult& chase_of(const ProgramResult& result) { return std::get<ChaseResult>(result.data); }
const StreamResult& stream_of(const ProgramResult& result) { return std::get<StreamResult>(result.data); }

ProgramResult run_one(Device& device, const Program& program) {
  std::vector<ProgramResult> results = device.run({&program, 1});
  EXPECT_EQ(results.size(), 1u);
  return results.at(0);
}

std::uint64_t histogram_sum(const StepResult& step) {
  return std::accumulate(step.histogram.begin(), step.histogram.end(), std::uint64_t{0});
}

std::uint32_t median(std::vector<std::uint32_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

TEST_P(DeviceConformance, SaysWhatItIs) {
  on_device([](Device& device) {
    const DeviceInfo& info = device.info();
    EXPECT_FALSE(info.backend.empty());
    EXPECT_FALSE(info.vendor.empty());
    EXPECT_FALSE(info.name.empty());
    EXPECT_GE(info.sm_count, 1u);
    EXPECT_FALSE(info.spaces.empty());
    EXPECT_GE(info.max_array_bytes, 1u << 20);
    EXPECT_TRUE(std::is_sorted(info.carve_outs_bytes.begin(), info.carve_outs_bytes.end()));
    EXPECT_EQ(info.simulated, !GetParam().hardware);
  });
}

TEST_P(DeviceConformance, NoProgramsNoResults) {
  on_device([](Device& device) { EXPECT_TRUE(device.run({}).empty()); });
}

TEST_P(DeviceConformance, ResultsComeInTheOrderOfThePrograms) {
  on_device([](Device& device) {
    std::vector<Program> programs;
    for (std::uint64_t i = 1; i <= 5; ++i) {
      programs.push_back(chase(Space::kGlobal, StepKind::kTimed, 10 * i));
      programs.push_back(StreamProgram{.bytes = i << 20});
    }
    const std::vector<ProgramResult> results = device.run(programs);
    ASSERT_EQ(results.size(), programs.size());
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(chase_of(results[2 * i]).steps.back().loads, 10 * (i + 1));
      EXPECT_EQ(stream_of(results[2 * i + 1]).bytes_moved, (i + 1) << 20);
      EXPECT_GT(results[2 * i].sm_clock_mhz, 0);
    }
  });
}

// What a step has brought into a cache is there in the next: the first pass over it takes no longer than those after
// it.
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

// What another SM loads in between does not drive out what SM 0 holds more than what it loads itself.
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
      program.steps.push_back({.kind = StepKind::kTouch});
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

// What was touched, the second quarter of an array, is as near as what was just loaded.
TEST_P(DeviceConformance, PartsOfAnArrayAreTouched) {
  on_device([](Device& device) {
    constexpr std::uint64_t kElements = 64;
    constexpr std::uint64_t kPart = kElements / 4;
    for (const Space space : device.info().spaces) {
      if (space == Space::kConstant || space == Space::kShared) continue;  // on the chip, all of them
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

// 16 elements that were just loaded come from the nearest cache of their space, all alike.
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
        // One pass has loaded all 64 elements: a second one, from another place, meets no cold one.
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

TEST_P(DeviceConformance, TheCarveOutIsReported) {
  on_device([](Device& device) {
    const auto& choices = device.info().carve_outs_bytes;
    ChaseProgram program = chase(Space::kGlobal, StepKind::kCounted, 16);
    if (choices.empty()) {
      EXPECT_EQ(run_one(device, program).shared_carve_out_bytes, 0u);
      return;
    }
    program.shared_carve_out_bytes = choices.back() / 2;
    const std::uint64_t wanted = program.shared_carve_out_bytes;
    const std::uint64_t given = run_one(device, program).shared_carve_out_bytes;
    EXPECT_GE(given, wanted);
    EXPECT_THAT(choices, testing::Contains(given));
  });
}

TEST_P(DeviceConformance, TheAskedSmRunsIt) {
  on_device([](Device& device) {
    ChaseProgram program = chase(Space::kGlobal, StepKind::kCounted, 16);
    program.exclusive = true;
    for (const std::uint32_t sm : {0u, device.info().sm_count - 1}) {
      program.sm = sm;
      EXPECT_EQ(chase_of(run_one(device, program)).sm, sm);
    }
    program.sm = 100000;
    EXPECT_THROW(static_cast<void>(run_one(device, program)), NotSupportedError);
  });
}

TEST_P(DeviceConformance, SharedProgramsRunOnSmsThatExist) {
  on_device([](Device& device) {
    const std::vector<Program> programs(device.info().sm_count + 3, chase(Space::kGlobal, StepKind::kCounted, 16));
    const std::vector<ProgramResult> results = device.run(programs);
    ASSERT_EQ(results.size(), programs.size());
    for (const ProgramResult& result : results) EXPECT_LT(chase_of(result).sm, device.info().sm_count);
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
    if (!has_space(device, Space::kGlobalBypassL1)) return;
    ChaseProgram program = chase(Space::kGlobal, StepKind::kTimed, 16);
    program.arrays.push_back(program.arrays[0]);
    program.arrays[1].space = Space::kGlobalBypassL1;
    program.arrays[1].alias_of = 0;
    program.steps[1].array = 1;
    EXPECT_EQ(chase_of(run_one(device, program)).steps[1].latencies.size(), 16u);
  });
}

// A store writes what was there, so both chains still go round, also where it wrote a part and where the alias reads
// it.
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

// The second of two loads of an element finds what the first had to wait for, or finds it as far as the first did.
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
      // Warm, both loads are hits: as a rule they differ by little.
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

TEST_P(DeviceConformance, ImpossibleProgramsAreUsageErrors) {
  on_device([](Device& device) {
    const ChaseProgram good = chase(Space::kGlobal, StepKind::kTimed, 16);
    std::vector<ChaseProgram> impossible(6, good);
    impossible[0].arrays.clear();
    impossible[1].actors.clear();
    impossible[2].steps.clear();
    impossible[3].steps[0].array = 1;
    impossible[4].arrays[0].stride_bytes = 4;
    impossible[5].steps[1].first = 16;
    for (const ChaseProgram& program : impossible) {
      EXPECT_THROW(static_cast<void>(run_one(device, program)), UsageError);
    }
    EXPECT_THROW(static_cast<void>(run_one(device, StreamProgram{.bytes = 0})), UsageError);
  });
}

TEST_P(DeviceConformance, TooLargeAnArrayIsNotSupported) {
  on_device([](Device& device) {
    ChaseProgram program = chase(Space::kGlobal, StepKind::kTimed, 16);
    program.arrays[0].stride_bytes = 1ull << 30;
    program.arrays[0].bytes = 1ull << 50;
    EXPECT_THROW(static_cast<void>(run_one(device, program)), DeviceError);
  });
}

TEST_P(DeviceConformance, StreamsMoveWhatTheySay) {
  on_device([](Device& device) {
    for (const StreamOp op : {StreamOp::kRead, StreamOp::kWrite, StreamOp::kCopy}) {
      for (const std::uint32_t vector_bytes : {4u, 16u}) {
        const StreamProgram program{.op = op, .bytes = 8 << 20, .vector_bytes = vector_bytes, .repeats = 2};
        const StreamResult result = stream_of(run_one(device, program));
        EXPECT_EQ(result.bytes_moved, (op == StreamOp::kCopy ? 2u : 1u) * 2 * (8 << 20));
        EXPECT_GT(result.seconds, 0);
        EXPECT_GT(result.cycles, 0);
        EXPECT_LT(static_cast<double>(result.bytes_moved) / result.seconds, 1e14) << "no GPU is that fast";
      }
    }
  });
}

TEST_P(DeviceConformance, ACopyMayWriteToFewBytesAgainAndAgain) {
  on_device([](Device& device) {
    const StreamProgram program{.op = StreamOp::kCopy, .bytes = 64 << 20, .write_span_bytes = 4 << 20};
    EXPECT_EQ(stream_of(run_one(device, program)).bytes_moved, 2u * (64 << 20));
    StreamProgram longer = program;
    longer.write_span_bytes = program.bytes + 1;
    EXPECT_THROW(static_cast<void>(run_one(device, longer)), UsageError);
  });
}

TEST_P(DeviceConformance, AStreamPerBlockMovesEachBlocksBytes) {
  on_device([](Device& device) {
    const StreamProgram program{
        .bytes = 4096, .per_block = true, .blocks_per_sm = 1, .threads_per_block = 256, .repeats = 10};
    EXPECT_EQ(stream_of(run_one(device, program)).bytes_moved, std::uint64_t{4096} * 10 * device.info().sm_count);
  });
}

TEST_P(DeviceConformance, SpacesThatAreMissingAreNotSupported) {
  on_device([](Device& device) {
    for (const Space space : kAllSpaces) {
      if (has_space(device, space)) continue;
      EXPECT_THROW(static_cast<void>(run_one(device, chase(space, StepKind::kTimed, 16))), NotSupportedError);
    }
  });
}

// Devices that say nothing of instructions refuse every instruction program.
bool runs_code(Device& device) {
  try {
    static_cast<void>(
        run_one(device, InstructionProgram{.actors = {{}}, .steps = {{.count = kCodeBlockInstructions}}}));
    return true;
  } catch (const NotSupportedError&) {
    return false;
  }
}

const InstructionResult& code_of(const ProgramResult& result) { return std::get<InstructionResult>(result.data); }

TEST_P(DeviceConformance, CodeTakesLongerTheMoreThereIs) {
  on_device([](Device& device) {
    if (!runs_code(device)) return;
    std::vector<std::uint64_t> fastest;
    for (const std::uint32_t blocks : {8u, 32u, 128u}) {
      const InstructionProgram program{.actors = {{}},
                                       .steps = {{.count = blocks * kCodeBlockInstructions},
                                                 {.count = blocks * kCodeBlockInstructions, .passes = 3}}};
      const InstructionResult result = code_of(run_one(device, program));
      ASSERT_EQ(result.pass_cycles.size(), 2u);
      ASSERT_EQ(result.pass_cycles[0].size(), 1u);
      ASSERT_EQ(result.pass_cycles[1].size(), 3u);
      ASSERT_EQ(result.sms.size(), 1u);
      EXPECT_LT(result.sms[0], device.info().sm_count);
      EXPECT_GE(result.block_bytes, 4.0 * kCodeBlockInstructions);
      EXPECT_LE(result.block_bytes, 24.0 * kCodeBlockInstructions);
      EXPECT_LT(result.loop_bytes, 8192u);
      fastest.push_back(*std::min_element(result.pass_cycles[1].begin(), result.pass_cycles[1].end()));
    }
    EXPECT_GT(fastest[1], 2 * fastest[0]);
    EXPECT_GT(fastest[2], 2 * fastest[1]);
  });
}

// Each step of the lead takes longer than the one before, by no more than a branch or a miss.
TEST_P(DeviceConformance, CodeRunsFromEveryStepOfTheLead) {
  on_device([](Device& device) {
    if (!runs_code(device)) return;
    InstructionProgram program{.actors = {{}}, .steps = {}};
    for (std::uint32_t lead = 0; lead <= kCodeLeadInstructions; lead += 8 * kCodeLeadStep) {
      program.steps.push_back({.count = 256, .passes = 5, .lead = lead});
    }
    const InstructionResult result = code_of(run_one(device, program));
    for (std::size_t step = 1; step < program.steps.size(); ++step) {
      const auto fastest = [&](std::size_t i) {
        return *std::min_element(result.pass_cycles[i].begin(), result.pass_cycles[i].end());
      };
      EXPECT_GT(fastest(step), fastest(step - 1));
      EXPECT_LT(fastest(step), fastest(step - 1) + 600);
    }
  });
}

TEST_P(DeviceConformance, CodeRunsFromEveryEntryAndConstantsBetween) {
  on_device([](Device& device) {
    if (!runs_code(device)) return;
    InstructionProgram program{.actors = {{}, {.warp = 3}}, .steps = {}};
    for (std::uint32_t first = 0; first < kMostCodeInstructions; first += kCodeEntryInstructions) {
      program.steps.push_back({.actor = first / kCodeEntryInstructions % 2, .first = first, .count = 256, .passes = 4});
    }
    const std::size_t entries = program.steps.size();
    const bool constants = has_space(device, Space::kConstant);
    if (constants) {
      program.steps.push_back({.kind = CodeStepKind::kConstants, .count = 2048, .passes = 4});
      program.steps.push_back(
          {.kind = CodeStepKind::kConstants, .first = 1024, .count = 1024, .passes = 4, .stride_bytes = 128});
    }
    const InstructionResult result = code_of(run_one(device, program));
    ASSERT_EQ(result.pass_cycles.size(), program.steps.size());
    EXPECT_EQ(result.sms[0], result.sms[1]);
    const auto fastest = [&](std::size_t step) {
      return *std::min_element(result.pass_cycles[step].begin(), result.pass_cycles[step].end());
    };
    for (std::size_t step = 0; step < entries; ++step) {
      EXPECT_GT(fastest(step), 64u);
      EXPECT_LT(fastest(step), 3 * fastest(0));
    }
    if (constants) {
      EXPECT_GT(fastest(entries), 32u * 4);
      EXPECT_GT(fastest(entries + 1), 8u * 4);
      EXPECT_LT(fastest(entries + 1), fastest(entries) / 2) << "a quarter of the loads";
    }
  });
}

TEST_P(DeviceConformance, CodeRunsOnTheNamedSmsInTurn) {
  on_device([](Device& device) {
    if (!runs_code(device)) return;
    const std::uint32_t last = device.info().sm_count - 1;
    InstructionProgram program{
        .actors = {{.sm = 0}, {.sm = last, .warp = 1}},
        .steps = {
            {.count = 256}, {.actor = 1, .first = kCodeEntryInstructions, .count = 256, .passes = 2}, {.count = 256}}};
    const InstructionResult result = code_of(run_one(device, program));
    EXPECT_THAT(result.sms, testing::ElementsAre(0u, last));
    EXPECT_THAT(result.pass_cycles, testing::SizeIs(3));
    program.actors[1].sm = 100000;
    EXPECT_THROW(static_cast<void>(run_one(device, program)), NotSupportedError);
  });
}

TEST_P(DeviceConformance, ImpossibleCodeIsAUsageError) {
  on_device([](Device& device) {
    const InstructionProgram good{.actors = {{}}, .steps = {{.count = 256}}};
    std::vector<InstructionProgram> impossible(10, good);
    impossible[0].actors.clear();
    impossible[1].steps.clear();
    impossible[2].steps[0].count = 33;
    impossible[3].steps[0].first = 32;
    impossible[4].steps[0].count = kMostCodeInstructions + 32;
    impossible[5].steps[0].actor = 1;
    impossible[6].actors = {{.sm = 0}, {}};
    impossible[7].steps[0] = {.kind = CodeStepKind::kConstants, .count = 65 << 10};
    impossible[8].steps[0] = {.kind = CodeStepKind::kConstants, .first = 64, .count = 64 << 10};
    impossible[9].steps[0] = {.kind = CodeStepKind::kConstants, .count = 1024, .stride_bytes = 0};
    for (const InstructionProgram& program : impossible) {
      EXPECT_THROW(static_cast<void>(run_one(device, program)), UsageError);
    }
  });
}

// What the device answers, or nothing where it does not know such accesses.
std::optional<AccessResult> access_of(Device& device, const AccessProgram& program) {
  try {
    return std::get<AccessResult>(run_one(device, program).data);
  } catch (const NotSupportedError&) {
    return std::nullopt;
  }
}

TEST_P(DeviceConformance, AccessesOfManyWarpsAreTimed) {
  on_device([](Device& device) {
    const std::vector<std::pair<AccessOp, Space>> kinds = {{AccessOp::kLoad, Space::kShared},
                                                           {AccessOp::kLoad, Space::kGlobal},
                                                           {AccessOp::kLoad, Space::kGlobalBypassL1},
                                                           {AccessOp::kStore, Space::kShared},
                                                           {AccessOp::kStore, Space::kGlobalBypassL1},
                                                           {AccessOp::kStoreLoad, Space::kShared},
                                                           {AccessOp::kStoreLoad, Space::kGlobalBypassL1},
                                                           {AccessOp::kAtomicAdd, Space::kShared},
                                                           {AccessOp::kAtomicAdd, Space::kGlobalBypassL1}};
    for (const auto& [op, space] : kinds) {
      for (const std::uint32_t lane_stride : {0u, 8u}) {
        const AccessProgram program{.op = op,
                                    .space = space,
                                    .bytes = 1024,
                                    .lane_stride_bytes = lane_stride,
                                    .warp_stride_bytes = 256,
                                    .hop_bytes = op == AccessOp::kLoad ? 512u : 0u,
                                    .warps = 3,
                                    .warm_accesses = 16,
                                    .accesses = 64};
        const std::optional<AccessResult> result = access_of(device, program);
        if (!result) continue;
        SCOPED_TRACE(to_text(program));
        EXPECT_GT(result->least_cycles, 0.5);
        EXPECT_LE(result->least_cycles, result->mean_cycles);
        EXPECT_LE(result->mean_cycles, result->most_cycles);
        EXPECT_GE(result->total_cycles, 64 * result->least_cycles);
        EXPECT_EQ(result->blocks, 1u);
      }
    }
  });
}

TEST_P(DeviceConformance, AccessesOnEverySmAtOnce) {
  on_device([](Device& device) {
    const AccessProgram program{.space = Space::kGlobalBypassL1,
                                .bytes = 1 << 16,
                                .lane_stride_bytes = 8,
                                .warp_stride_bytes = 256,
                                .hop_bytes = 4096,
                                .warps = 2,
                                .every_sm = true,
                                .accesses = 16};
    const std::optional<AccessResult> result = access_of(device, program);
    if (!result) return;
    EXPECT_EQ(result->blocks, device.info().sm_count);
    EXPECT_GT(result->least_cycles, 1);
  });
}

// A load takes what a load takes, whoever asks for it.
TEST_P(DeviceConformance, AWarpLoadsSharedMemoryAsFastAsAThread) {
  on_device([](Device& device) {
    const std::optional<AccessResult> result =
        access_of(device, {.bytes = 4096, .lane_stride_bytes = 4, .warm_accesses = 16, .accesses = 512});
    if (!result) return;
    const StepResult chain =
        std::get<ChaseResult>(run_one(device, chase(Space::kShared, StepKind::kWarm, 512)).data).steps.at(0);
    const double cycles = static_cast<double>(chain.total_cycles) / static_cast<double>(chain.loads);
    EXPECT_LT(result->mean_cycles, 1.3 * cycles);
    EXPECT_GT(result->mean_cycles, 0.7 * cycles);
  });
}

TEST_P(DeviceConformance, ImpossibleAccessesAreUsageErrors) {
  on_device([](Device& device) {
    const AccessProgram good{.bytes = 1024, .lane_stride_bytes = 4, .accesses = 64};
    std::vector<AccessProgram> impossible(9, good);
    impossible[0].space = Space::kTexture;
    impossible[1].bytes = 0;
    impossible[2].lane_stride_bytes = 3;
    impossible[3].hop_bytes = 1024;
    impossible[4].warps = 33;
    impossible[5].accesses = 8;
    impossible[6].warm_accesses = 5;
    impossible[7].op = AccessOp::kStore;
    impossible[7].space = Space::kGlobal;
    impossible[8].op = AccessOp::kAtomicAdd;
    impossible[8].hop_bytes = 4;
    for (const AccessProgram& program : impossible) {
      EXPECT_THROW(static_cast<void>(run_one(device, program)), UsageError);
    }
  });
}

// What the device answers, or nothing where it has no such clusters.
std::optional<ClusterResult> cluster_of(Device& device, const ClusterProgram& program) {
  try {
    return std::get<ClusterResult>(run_one(device, program).data);
  } catch (const NotSupportedError&) {
    return std::nullopt;
  }
}

TEST_P(DeviceConformance, BlocksOfClustersHaveAnSmEach) {
  on_device([](Device& device) {
    for (std::uint32_t size = 2; size <= kMostClusterSize; ++size) {
      for (const bool every_sm : {false, true}) {
        const ClusterProgram program{
            .cluster_size = size, .every_sm = every_sm, .hop = size - 1, .bytes = 1024, .accesses = 16};
        const std::optional<ClusterResult> result = cluster_of(device, program);
        if (!result) continue;
        SCOPED_TRACE(to_text(program));
        EXPECT_EQ(result->sms.size() % size, 0u);
        EXPECT_EQ(result->sms.size() / size, result->cycles.size());
        if (!every_sm) {
          EXPECT_EQ(result->sms.size(), size);
        }
        const std::set<std::uint32_t> different(result->sms.begin(), result->sms.end());
        EXPECT_EQ(different.size(), result->sms.size());
        EXPECT_LT(*different.rbegin(), device.info().sm_count);
        if (result->largest_cluster > 0) {
          EXPECT_GE(result->largest_cluster, size);
        }
      }
    }
  });
}

// Another SM's shared memory is farther than one's own, and nearer than device memory.
TEST_P(DeviceConformance, LoadsFromAnotherBlockOfTheClusterAreTimed) {
  on_device([](Device& device) {
    ClusterProgram program{.cluster_size = 2, .every_sm = true, .bytes = 4096, .warm_accesses = 64, .accesses = 64};
    const std::optional<ClusterResult> own = cluster_of(device, program);
    program.hop = 1;
    const std::optional<ClusterResult> next = cluster_of(device, program);
    program.reader = 1;
    const std::optional<ClusterResult> back = cluster_of(device, program);
    ASSERT_EQ(own.has_value(), next.has_value());
    if (!own) return;
    for (std::size_t i = 0; i < own->cycles.size(); ++i) {
      EXPECT_GT(own->cycles[i], 15);
      EXPECT_GT(next->cycles[i], 60);
      EXPECT_LT(next->cycles[i], 1000);
      EXPECT_GT(back->cycles[i], 60);
    }
    EXPECT_EQ(next->bytes_moved, next->cycles.size() * 64 * 8);
    EXPECT_GT(next->seconds, 0);
  });
}

TEST_P(DeviceConformance, AllWarpsOfAClusterRead) {
  on_device([](Device& device) {
    for (const std::uint32_t warps : {1u, 32u}) {
      const ClusterProgram program{.op = ClusterOp::kRead,
                                   .cluster_size = 4,
                                   .every_sm = true,
                                   .hop = 1,
                                   .bytes = 32768,
                                   .warps = warps,
                                   .warm_accesses = 16,
                                   .accesses = 128};
      const std::optional<ClusterResult> result = cluster_of(device, program);
      if (!result) return;
      EXPECT_EQ(result->bytes_moved, result->sms.size() * 128 * warps * 512);
      EXPECT_LT(static_cast<double>(result->bytes_moved) / result->seconds, 1e14) << "no GPU is that fast";
      EXPECT_GT(result->cycles.at(0), 2);
    }
  });
}

TEST_P(DeviceConformance, BulkCopiesTakeLongerTheLargerTheyAre) {
  on_device([](Device& device) {
    ClusterProgram program{
        .op = ClusterOp::kBulkCopy, .bytes = 1 << 20, .copy_bytes = 16, .warm_accesses = 64, .accesses = 64};
    const std::optional<ClusterResult> small = cluster_of(device, program);
    if (!small) return;
    program.copy_bytes = 32768;
    const ClusterResult large = *cluster_of(device, program);
    EXPECT_GT(small->cycles.at(0), 50);
    EXPECT_LT(small->cycles.at(0), 5000);
    EXPECT_GT(large.cycles.at(0), small->cycles.at(0) + 32);
    EXPECT_EQ(large.bytes_moved, 64u * 32768);
    // Several under way at a time take less each.
    program.copy_bytes = 1024;
    const double alone = cluster_of(device, program)->cycles.at(0);
    program.in_flight = 16;
    EXPECT_LT(cluster_of(device, program)->cycles.at(0), 0.7 * alone);
    program.every_sm = true;
    const ClusterResult all = *cluster_of(device, program);
    EXPECT_EQ(all.sms.size(), all.cycles.size());
    EXPECT_EQ(all.sms.size(), device.info().sm_count);
  });
}

TEST_P(DeviceConformance, ImpossibleClustersAreUsageErrors) {
  on_device([](Device& device) {
    const ClusterProgram good{.cluster_size = 2, .hop = 1, .bytes = 1024, .accesses = 16};
    const ClusterProgram copy{.op = ClusterOp::kBulkCopy, .bytes = 4096, .copy_bytes = 64, .accesses = 16};
    std::vector<ClusterProgram> impossible(6, good);
    impossible[0].cluster_size = 17;
    impossible[1].hop = 2;
    impossible[2].reader = 2;
    impossible[3].bytes = 100;
    impossible[4].accesses = 8;
    impossible[5].warps = 2;
    impossible.insert(impossible.end(), 5, copy);
    impossible[6].copy_bytes = 24;
    impossible[7].cluster_size = 2;
    impossible[8].in_flight = 33;
    impossible[9].in_flight = 3;
    impossible[10].bytes = 100;
    for (const ClusterProgram& program : impossible) {
      EXPECT_THROW(static_cast<void>(run_one(device, program)), UsageError) << to_text(program);
    }
  });
}

// A simulated device answers alike for the same seed and the same programs.
TEST_P(DeviceConformance, TheSeedOfASimulationDecidesItsAnswers) {
  if (GetParam().hardware || GetParam().replayed) GTEST_SKIP() << "not a simulation";
  const auto answers = [](std::uint64_t seed) {
    const auto device = open_device(GetParam().spec, seed);
    const std::vector<Program> programs = {chase(Space::kGlobal, StepKind::kTimed, 500),
                                           StreamProgram{.bytes = 1 << 20}};
    return device->run(programs);
  };
  EXPECT_EQ(answers(1), answers(1));
  EXPECT_NE(answers(1), answers(2));
}

}  // namespace
}  // namespace gputopo
