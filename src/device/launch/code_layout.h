// Where the parts of an instruction program's launch go, its tasks and its parameters. Numbers only, no GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "device/launch/kernel_layout.h"
#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

// From where the launch's memory begins: the tasks, a record of each slot, the word that counts the steps that have
// ended, and the cycles of the passes.
struct CodeLayout {
  std::vector<std::uint32_t> sms;          // by slot: the SM that actors name, each once, in their order; kAnySm: any
  std::vector<std::uint32_t> slots;        // by actor
  std::uint32_t warps = 1;                 // of a block
  CodeStepKind kind = CodeStepKind::kRun;  // of the first step
  std::uint32_t count = 0;                 // of jumps or operands of each step; 0: they have none
  bool has_lead = false;                   // some step begins in the lead
  std::uint64_t records = 0;
  std::uint64_t turn = 0;
  std::vector<std::uint64_t> passes;  // by step
  std::uint64_t bytes = 0;            // of all
};

// Throws UsageError for a program that would take too long.
void check_duration(const InstructionProgram& program);
// Throws NotSupportedError where an actor names an SM that is not there.
[[nodiscard]] CodeLayout lay_out(const InstructionProgram& program, std::uint32_t sm_count);
[[nodiscard]] std::vector<CodeStepTask> encode_steps(const InstructionProgram& program, const CodeLayout& layout,
                                                     std::uint32_t warp_size, Address base);
// `wanted_sms`: by slot, hardware ids.
[[nodiscard]] CodeParameters encode(const CodeLayout& layout, const std::vector<std::uint32_t>& wanted_sms,
                                    std::uint32_t patience_cycles, Address base);

}  // namespace gputopo::launch
