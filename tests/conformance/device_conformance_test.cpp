// Requirements for every device and every kind of program: report its properties, and answer or refuse each program.
#include "conformance/device_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gputopo::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(All, DeviceConformance,
                         testing::Values(Candidate{"sim_h200", "sim:h200"}, Candidate{"sim_p6000", "sim:p6000"},
                                         Candidate{"sim_k20c", "sim:k20c"}, Candidate{"sim_gt200", "sim:gt200"},
                                         Candidate{"sim_mi210", "sim:mi210"}, Candidate{"sim_mi300x", "sim:mi300x"},
                                         Candidate{"replay_h200", "sim:h200", true},
                                         Candidate{"replay_mi300x", "sim:mi300x", true},
                                         Candidate{"cuda_0", "cuda:0", false, true},
                                         Candidate{"hip_0", "hip:0", false, true}),
                         [](const auto& candidate) { return candidate.param.name; });

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

TEST_P(DeviceConformance, SpacesThatAreMissingAreNotSupported) {
  on_device([](Device& device) {
    bool any = false;
    for (const Space space : kAllSpaces) {
      if (has_space(device, space)) continue;
      any = true;
      EXPECT_THROW(static_cast<void>(run_one(device, chase(space, StepKind::kTimed, 16))), NotSupportedError);
    }
    if (!any) GTEST_SKIP() << "the device has every space";
  });
}

// A simulated device gives the same results for the same seed and programs.
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
}  // namespace gputopo::conformance
