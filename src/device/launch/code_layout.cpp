#include "device/launch/code_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "gputopo/error.h"

namespace gputopo::launch {
namespace {

// Slowest expected rates, to refuse programs that take too long: code from memory, constants that miss everywhere.
constexpr double kCyclesPerInstruction = 16;
constexpr double kCyclesPerConstant = 1000;
constexpr double kCyclesPerCounted = 2000;

double once_through(const CodeStep& step) {
  if (is_counted(step.kind)) return kCyclesPerCounted * step.count;
  if (step.kind == CodeStepKind::kRun) return kCyclesPerInstruction * step.count;
  return kCyclesPerConstant * step.count / step.stride_bytes;
}

double estimated_cycles(const InstructionProgram& program) {
  double cycles = 0;
  for (const CodeStep& step : program.steps) {
    cycles += once_through(step) * step.passes;
  }
  return cycles;
}

}  // namespace

void check_duration(const InstructionProgram& program) {
  const double cycles = estimated_cycles(program);
  if (cycles <= kMaxLaunchCycles) return;
  throw UsageError(
      fmt::format("program: its steps could take {:.0e} cycles, but a launch is limited to {:.0e}; use fewer passes",
                  cycles, kMaxLaunchCycles));
}

CodeLayout lay_out(const InstructionProgram& program, std::uint32_t sm_count) {
  CodeLayout layout;
  for (const CodeActor& actor : program.actors) {
    layout.warps = std::max(layout.warps, actor.warp + 1);
    const std::uint32_t sm = actor.sm.value_or(kAnySm);
    if (sm != kAnySm && sm >= sm_count) {
      throw NotSupportedError(fmt::format("this GPU has no SM {}; it has {} SMs", sm, sm_count));
    }
    const auto found = std::ranges::find(layout.sms, sm);
    layout.slots.push_back(static_cast<std::uint32_t>(found - layout.sms.begin()));
    if (found == layout.sms.end()) layout.sms.push_back(sm);
  }
  layout.kind = program.steps.front().kind;
  if (is_counted(layout.kind)) layout.count = program.steps.front().count;
  layout.records = program.steps.size() * sizeof(CodeStepTask);
  layout.turn = layout.records + kMaxCodeSms * sizeof(BlockRecord);
  layout.bytes = layout.turn + sizeof(std::uint64_t);
  for (const CodeStep& step : program.steps) {
    layout.has_lead = layout.has_lead || step.lead > 0;
    layout.bytes += sizeof(std::uint64_t);  // before the cycles, for the kernel to overwrite
    layout.passes.push_back(layout.bytes);
    layout.bytes += step.passes * sizeof(std::uint64_t);
  }
  return layout;
}

std::vector<CodeStepTask> encode_steps(const InstructionProgram& program, const CodeLayout& layout,
                                       std::uint32_t warp_size, Address base) {
  std::vector<CodeStepTask> tasks;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const CodeStep& step = program.steps[i];
    const std::uint32_t end = step.first + step.count;
    CodeStepTask& task = tasks.emplace_back(CodeStepTask{.result = base + layout.passes[i],
                                                         .kind = static_cast<std::uint32_t>(step.kind),
                                                         .slot = layout.slots[step.actor],
                                                         .thread = warp_size * program.actors[step.actor].warp,
                                                         .passes = step.passes});
    if (step.kind == CodeStepKind::kRun) {
      task.begin = step.first / kCodeEntryInstructions;
      task.lead = step.lead;
      task.end = end / kCodeBlockInstructions - 1;
    } else if (step.kind == CodeStepKind::kAlignedJumps) {
      task.begin = step.first + (step.count == kManyAlignedJumps ? 0 : kAlignments);
    } else if (step.kind == CodeStepKind::kConstants) {
      task.begin = step.first;
      task.end = end;
      task.stride = step.stride_bytes;
    }
  }
  return tasks;
}

CodeParameters encode(const CodeLayout& layout, const std::vector<std::uint32_t>& wanted_sms,
                      std::uint32_t patience_cycles, Address base) {
  return {.steps = base,
          .records = base + layout.records,
          .turn = base + layout.turn,
          .step_count = static_cast<std::uint32_t>(layout.passes.size()),
          .never = kNever,
          .wanted_sm = {wanted_sms.front(), wanted_sms.back()},
          .patience_cycles = patience_cycles,
          .longest_wait_cycles = static_cast<std::uint32_t>(kMaxLaunchCycles),
          .count = layout.count};
}

}  // namespace gputopo::launch
