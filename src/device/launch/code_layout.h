// Offsets in the memory of an instruction program's launch, its tasks and its parameters. Pure numbers, no GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "device/launch/kernel_layout.h"
#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

// Memory holds the tasks, a record of each slot, the word that counts the ended steps, and the cycles of the passes.
struct CodeLayout {
  std::vector<std::uint32_t> sms;          // SM of each slot, each named one once, in order; kAnySm: any
  std::vector<std::uint32_t> slots;        // by actor
  std::uint32_t warps = 1;                 // warps per block
  CodeStepKind kind = CodeStepKind::kRun;  // kind of the first step
  std::uint32_t count = 0;                 // jumps or operands of each step; 0: there are none
  bool has_lead = false;                   // whether a step begins in the lead
  std::uint64_t records = 0;
  std::uint64_t turn = 0;
  std::vector<std::uint64_t> passes;  // by step
  std::uint64_t bytes = 0;            // total size
};

// Throws UsageError for a program that would take too long.
void check_duration(const InstructionProgram& program);
// Throws NotSupportedError if an actor names an SM that does not exist.
[[nodiscard]] CodeLayout lay_out(const InstructionProgram& program, std::uint32_t sm_count);
[[nodiscard]] std::vector<CodeStepTask> encode_steps(const InstructionProgram& program, const CodeLayout& layout,
                                                     std::uint32_t warp_size, Address base);
// `wanted_sms`: hardware ids by slot.
[[nodiscard]] CodeParameters encode(const CodeLayout& layout, const std::vector<std::uint32_t>& wanted_sms,
                                    std::uint32_t patience_cycles, Address base);

}  // namespace gputopo::launch
