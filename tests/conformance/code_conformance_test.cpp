// Instruction programs, on every device that runs them: straight-line code, and constants in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "conformance/device_conformance.h"

namespace gputopo::conformance {
namespace {

constexpr const char* kNoCode = "the device runs no instruction programs";

// Devices without instruction programs refuse all of them.
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
    if (!runs_code(device)) GTEST_SKIP() << kNoCode;
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
    if (!runs_code(device)) GTEST_SKIP() << kNoCode;
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
    if (!runs_code(device)) GTEST_SKIP() << kNoCode;
    InstructionProgram program{.actors = {{}, {.warp = 3}}, .steps = {}};
    for (std::uint32_t first = 0; first < kMaxCodeInstructions; first += kCodeEntryInstructions) {
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

// More jumps or operands take longer, and none takes less time than an instruction.
TEST_P(DeviceConformance, JumpsAndOperandsComeOneAfterAnother) {
  on_device([](Device& device) {
    int kinds = 0;
    for (const CodeStepKind kind :
         {CodeStepKind::kNearJumps, CodeStepKind::kFarJumps, CodeStepKind::kAlignedJumps, CodeStepKind::kApartOperands,
          CodeStepKind::kNearOperands, CodeStepKind::kCloseOperands}) {
      const auto run = [&](std::uint32_t count) {
        const CodeStep step{.kind = kind, .count = count, .passes = 5};
        return code_of(run_one(device, InstructionProgram{.actors = {{}}, .steps = {step}}));
      };
      try {
        static_cast<void>(run(max_count(kind)));
      } catch (const NotSupportedError&) {
        continue;
      }
      ++kinds;
      std::uint64_t before = 0;
      const bool is_aligned = kind == CodeStepKind::kAlignedJumps;
      for (const std::uint32_t count :
           is_aligned ? std::vector{kFewAlignedJumps, kManyAlignedJumps} : std::vector{1u, 8u, 64u, max_count(kind)}) {
        const InstructionResult result = run(count);
        ASSERT_EQ(result.pass_cycles.size(), 1u);
        ASSERT_EQ(result.pass_cycles[0].size(), 5u);
        const std::uint64_t fastest = std::ranges::min(result.pass_cycles[0]);
        EXPECT_GT(fastest, before);
        EXPECT_GE(fastest, count);
        before = fastest;
        EXPECT_GE(result.block_bytes, 4.0 * kJumpInstructions);
        EXPECT_LE(result.block_bytes, 24.0 * (kJumpInstructions + kFarJumpFiller + 4));
      }
    }
    if (kinds == 0) GTEST_SKIP() << "the device runs neither jumps nor operands";
  });
}

TEST_P(DeviceConformance, CodeRunsOnTheNamedSmsInTurn) {
  on_device([](Device& device) {
    if (!runs_code(device)) GTEST_SKIP() << kNoCode;
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
    impossible[4].steps[0].count = kMaxCodeInstructions + 32;
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

}  // namespace
}  // namespace gputopo::conformance
