// Instruction programs on simulated machines without noise, where each cycle can be counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_check.h"
#include "device/sim/sim_device.h"

namespace gputopo::sim {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kNearCode = 4096 / 16;  // instructions in the nearest cache
constexpr std::uint32_t kFarCode = 65536 / 16;  // and in the next one

// 4 KiB for each SM, then 64 KiB for two SMs, which also serves constants.
MachineSpec machine() {
  MachineSpec spec;
  spec.info.vendor = "NVIDIA";
  spec.info.name = "test";
  spec.info.sm_count = 4;
  spec.caches = {
      {.id = "near", .size_bytes = 4096, .line_bytes = 128, .sector_bytes = 128, .ways = 4},
      {.id = "far", .size_bytes = 65536, .line_bytes = 128, .sector_bytes = 128, .ways = 8, .scope = Scope::kTpc}};
  spec.code = CodeSpec{.path = {{"near", 1}, {"far", 2}}, .memory_cycles_per_instruction = 5, .loop_cycles = 100};
  spec.spaces[Space::kConstant] = {.path = {{"far", 50, 0}}, .memory_latency_cycles = 500};
  return spec;
}

InstructionResult run(const InstructionProgram& program, const MachineSpec& spec = machine()) {
  const Program one = program;
  return std::get<InstructionResult>(make_sim_device(spec, 1)->run({&one, 1}).front().data);
}

TEST(SimCode, TheLevelThatHoldsItDecides) {
  for (const auto& [count, cycles] :
       {std::pair(kNearCode, 1u), std::pair(2 * kNearCode, 2u), std::pair(kFarCode, 2u), std::pair(2 * kFarCode, 5u)}) {
    const InstructionResult result = run({.actors = {{}}, .steps = {{.count = count, .passes = 3}}});
    EXPECT_EQ(result.pass_cycles[0][0], 5u * count + 100) << "cold";
    EXPECT_EQ(result.pass_cycles[0][1], cycles * count + 100);
    EXPECT_EQ(result.pass_cycles[0][2], cycles * count + 100);
    EXPECT_EQ(result.block_bytes, 512);
  }
}

// Near blocks have 6 instructions of 16 B, far ones 24, of which three run: one line each.
TEST(SimCode, JumpsTakeWhatTheLevelThatHoldsTheirLineTakes) {
  MachineSpec spec = machine();
  const auto cycles_of = [&](CodeStepKind kind, std::uint32_t count) {
    const InstructionProgram program{.actors = {{}}, .steps = {{.kind = kind, .count = count, .passes = 3}}};
    const InstructionResult result = run(program, spec);
    EXPECT_EQ(result.block_bytes, kind == CodeStepKind::kNearJumps ? 96 : 384);
    return result.pass_cycles[0][2];
  };
  EXPECT_THROW(static_cast<void>(cycles_of(CodeStepKind::kFarJumps, 1)), NotSupportedError);
  spec.code->path[0].jump_cycles = 20;
  spec.code->path[1].jump_cycles = 50;
  spec.code->memory_jump_cycles = 200;
  EXPECT_EQ(cycles_of(CodeStepKind::kFarJumps, 32), 32u * 20 + 100);
  EXPECT_EQ(cycles_of(CodeStepKind::kFarJumps, 64), 64u * 50 + 100) << "twice the lines";
  EXPECT_EQ(cycles_of(CodeStepKind::kNearJumps, 40), 40u * 20 + 100) << "3840 B";
  EXPECT_GT(cycles_of(CodeStepKind::kNearJumps, 80), 80u * 35) << "but for blocks that begin in one line";
}

MachineSpec with_jumps() {
  MachineSpec spec = machine();
  spec.code->path[0].jump_cycles = 20;
  spec.code->path[1].jump_cycles = 50;
  spec.code->memory_jump_cycles = 200;
  return spec;
}

// Four instructions of 16 B run in each block.
TEST(SimCode, AlignedJumpsTakeLongerWhereABlockLiesInOneMoreFetch) {
  MachineSpec spec = with_jumps();
  spec.code->fetch_bytes = 128;
  spec.code->fetch_cycles = 3;
  for (const std::uint32_t alignment : {0u, 4u, 5u, 7u, 8u, 13u, 31u}) {
    const InstructionProgram program{
        .actors = {{}}, .steps = {{.kind = CodeStepKind::kAlignedJumps, .first = alignment, .count = 6, .passes = 3}}};
    const InstructionResult result = run(program, spec);
    EXPECT_EQ(result.pass_cycles[0][2], 6u * (alignment % 8 > 4 ? 23 : 20) + 100) << alignment;
    EXPECT_EQ(result.block_bytes, 16 * 33);
  }
}

// If the code exceeds the cache, all instructions miss, but only the first one is not prefetched.
TEST(SimCode, APassBeginsWithAJump) {
  MachineSpec spec = with_jumps();
  spec.code->path[1].cycles_per_instruction = spec.code->path[0].cycles_per_instruction;
  for (const auto& [count, more] : {std::pair(kNearCode, 0u), std::pair(kNearCode + 32, 30u)}) {
    const InstructionResult result = run({.actors = {{}}, .steps = {{.count = count, .passes = 3}}}, spec);
    EXPECT_EQ(result.pass_cycles[0][2], count + 100 + more);
  }
}

TEST(SimCode, OperationsTakeWhatTheLevelThatHoldsTheirConstantTakes) {
  MachineSpec spec = machine();
  spec.caches.push_back({.id = "operands", .size_bytes = 1024, .line_bytes = 64, .sector_bytes = 64, .ways = 2});
  const auto cycles_of = [&](CodeStepKind kind, std::uint32_t count) {
    return run({.actors = {{}}, .steps = {{.kind = kind, .count = count, .passes = 3}}}, spec).pass_cycles[0][2];
  };
  EXPECT_THROW(static_cast<void>(cycles_of(CodeStepKind::kApartOperands, 1)), NotSupportedError);
  spec.code->operand_path = {{"operands", 7}};
  spec.code->memory_operand_cycles = 50;
  EXPECT_EQ(cycles_of(CodeStepKind::kApartOperands, 16), 16u * 7 + 100);
  EXPECT_EQ(cycles_of(CodeStepKind::kApartOperands, 32), 32u * 50 + 100);
  EXPECT_EQ(cycles_of(CodeStepKind::kNearOperands, 32), 32u * 7 + 100) << "two in a line";
  EXPECT_EQ(cycles_of(CodeStepKind::kCloseOperands, 256), 256u * 7 + 100) << "sixteen in a line";
}

TEST(SimCode, SmsOfATpcEvictEachOther) {
  const auto last_pass = [](std::uint32_t other) {
    return run({.actors = {{.sm = 0}, {.sm = other}},
                .steps = {{.count = kFarCode / 2, .passes = 2},
                          {.actor = 1, .first = 8192, .count = kFarCode},
                          {.count = kFarCode / 2}}})
        .pass_cycles.back()
        .front();
  };
  EXPECT_EQ(last_pass(1), 5u * kFarCode / 2 + 100);
  EXPECT_EQ(last_pass(2), 2u * kFarCode / 2 + 100);
}

TEST(SimCode, ConstantsEvictWhatTheyShareOnly) {
  const auto last_pass = [](std::uint32_t count) {
    return run({.actors = {{}},
                .steps = {{.count = count, .passes = 2},
                          {.kind = CodeStepKind::kConstants, .count = 65536, .passes = 2},
                          {.count = count}}})
        .pass_cycles.back()
        .front();
  };
  EXPECT_EQ(last_pass(kNearCode), kNearCode + 100);
  EXPECT_EQ(last_pass(kFarCode), 5u * kFarCode + 100);
}

TEST(SimCode, ConstantsTakeTheirLatency) {
  const auto passes =
      run({.actors = {{}}, .steps = {{.kind = CodeStepKind::kConstants, .count = 4096, .passes = 2}}}).pass_cycles[0];
  EXPECT_THAT(passes, ::testing::ElementsAre(64u / 2 * 500 + 64u / 2 * 50, 64u * 50));  // two in each line
}

TEST(SimCode, ConstantsAreWalkedFromWhereToldInTheStrideTold) {
  const auto cycles = [](std::uint32_t first, std::uint32_t count, std::uint32_t stride) {
    const CodeStep all{.kind = CodeStepKind::kConstants, .count = 4096, .passes = 2};
    const CodeStep walk{.kind = CodeStepKind::kConstants, .first = first, .count = count, .stride_bytes = stride};
    return run({.actors = {{}}, .steps = {all, walk}}).pass_cycles[1][0];
  };
  EXPECT_EQ(cycles(0, 4096, 256), 16u * 50);
  EXPECT_EQ(cycles(2048, 2048, 256), 8u * 50);
  EXPECT_EQ(cycles(8192, 2048, 128), 16u * 500);  // none of it was resident
}

TEST(SimCode, WhatTheMachineDoesNotSayIsNotSupported) {
  MachineSpec spec = machine();
  spec.code.reset();
  EXPECT_THROW(run({.actors = {{}}, .steps = {{.count = 32}}}, spec), NotSupportedError);
  EXPECT_THROW(run({.actors = {{.sm = 4}}, .steps = {{.count = 32}}}), NotSupportedError);
}

TEST(SimCode, ImpossiblePathsAreRefused) {
  const auto problem_of = [](const auto& change) {
    MachineSpec spec = machine();
    change(spec);
    try {
      check_machine(spec);
      return std::string();
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(problem_of([](MachineSpec&) {}), "");
  EXPECT_THAT(problem_of([](MachineSpec& spec) { spec.code->bytes_per_instruction = 12; }),
              HasSubstr("code.bytes_per_instruction"));
  EXPECT_THAT(problem_of([](MachineSpec& spec) { spec.code->path[1].cache = "none"; }),
              HasSubstr("code.path[1].cache"));
  EXPECT_THAT(problem_of([](MachineSpec& spec) { spec.code->path[1].cycles_per_instruction = 0.5; }),
              HasSubstr("code.path[1].cycles_per_instruction"));
  EXPECT_THAT(problem_of([](MachineSpec& spec) { spec.code->memory_cycles_per_instruction = 1; }),
              HasSubstr("code.memory_cycles_per_instruction"));
  EXPECT_THAT(problem_of([](MachineSpec& spec) { spec.sms_per_tpc = 0; }), HasSubstr("sms_per_tpc"));
}

}  // namespace
}  // namespace gputopo::sim
