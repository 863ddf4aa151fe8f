#include "device/launch/code_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gputopo/error.h"

namespace gputopo::launch {
namespace {

// The slowest we expect, to refuse what would take too long: instructions from memory, constants that miss everywhere.
constexpr double kCyclesPerInstruction = 16;
constexpr double kCyclesPerConstant = 1000;

double estimated_cycles(const InstructionProgram& program) {
  double cycles = 0;
  for (const CodeStep& step : program.steps) {
    const double once = step.kind == CodeStepKind::kRun ? kCyclesPerInstruction * step.count
                                                        : kCyclesPerConstant * step.count / step.stride_bytes;
    cycles += once * step.passes;
  }
  return cycles;
}

// What lies in device memory for one launch.
struct Layout {
  std::vector<CodeStepTask> steps;
  std::uint64_t records = 0;  // offsets
  std::uint64_t turn = 0;
  std::uint64_t passes = 0;
  std::uint64_t bytes = 0;
};

Layout lay_out(const InstructionProgram& program, const std::vector<std::uint32_t>& slots, std::uint32_t warp_size,
               Address base) {
  Layout layout;
  layout.records = program.steps.size() * sizeof(CodeStepTask);
  layout.turn = layout.records + kMostCodeSms * sizeof(BlockRecord);
  layout.passes = layout.turn + sizeof(std::uint64_t);
  layout.bytes = layout.passes;
  for (const CodeStep& step : program.steps) {
    const CodeActor& actor = program.actors[step.actor];
    const bool runs = step.kind == CodeStepKind::kRun;
    CodeStepTask& task = layout.steps.emplace_back(CodeStepTask{});
    layout.bytes += sizeof(std::uint64_t);
    task.result = base + layout.bytes;
    task.kind = static_cast<std::uint32_t>(step.kind);
    task.slot = slots[step.actor];
    task.thread = warp_size * actor.warp;
    const std::uint32_t end = step.first + step.count;
    if (runs) {
      task.begin = step.first / kCodeEntryInstructions;
      task.lead = step.lead;
      task.end = end / kCodeBlockInstructions - 1;
    } else {
      task.begin = step.first;
      task.end = end;
      task.stride = step.stride_bytes;
    }
    task.passes = step.passes;
    layout.bytes += step.passes * sizeof(std::uint64_t);
  }
  return layout;
}

}  // namespace

ProgramResult CodeRunner::run(const InstructionProgram& program) {
  if (const double cycles = estimated_cycles(program); cycles > kMostLaunchCycles) {
    throw UsageError(
        fmt::format("program: its steps may take {:.0e} cycles, and a launch may last {:.0e}; give it fewer passes",
                    cycles, kMostLaunchCycles));
  }
  kernel_.check(program);
  // The SMs that are named, each with its slot.
  std::vector<std::uint32_t> wanted;
  std::vector<std::uint32_t> slots;
  std::uint32_t warps = 1;
  for (const CodeActor& actor : program.actors) {
    warps = std::max(warps, actor.warp + 1);
    const std::uint32_t sm = actor.sm.value_or(kAnySm);
    if (sm != kAnySm && sm >= gpu_.info().sm_count) {
      throw NotSupportedError(fmt::format("this GPU has no SM {}; it has {}", sm, gpu_.info().sm_count));
    }
    const auto found = std::find(wanted.begin(), wanted.end(), sm);
    slots.push_back(static_cast<std::uint32_t>(found - wanted.begin()));
    if (found == wanted.end()) wanted.push_back(sm);
  }

  const CodeSizes sizes = kernel_.sizes();
  const std::uint32_t warp_size = gpu_.info().warp_size;
  const Address base = gpu_.reserve(lay_out(program, slots, warp_size, 0).bytes);
  const Layout layout = lay_out(program, slots, warp_size, base);
  gpu_.clear(base, layout.bytes);
  gpu_.upload(base, layout.steps.data(), layout.steps.size() * sizeof(CodeStepTask));
  CodeParameters parameters{.steps = base,
                            .records = base + layout.records,
                            .turn = base + layout.turn,
                            .step_count = static_cast<std::uint32_t>(layout.steps.size()),
                            .never = kNever,
                            .patience_cycles = gpu_.patience_cycles(),
                            .longest_wait_cycles = static_cast<std::uint32_t>(kMostLaunchCycles)};
  const auto id_of = [&](std::uint32_t sm) { return sm == kAnySm ? kAnySm : gpu_.hardware_id_of(sm); };
  parameters.wanted_sm[0] = id_of(wanted.front());
  parameters.wanted_sm[1] = id_of(wanted.back());

  CodeLaunch launch{.threads = warp_size * warps};
  launch.has_lead =
      std::any_of(program.steps.begin(), program.steps.end(), [](const CodeStep& step) { return step.lead > 0; });
  launch.carve_out_bytes = gpu_.carve_out_for(0, sizeof(std::uint32_t), 1);
  launch.shared_bytes = gpu_.shared_bytes_for_one_block(launch.carve_out_bytes, sizeof(std::uint32_t));
  if (wanted.front() != kAnySm) {
    launch.blocks = gpu_.blocks_to_reach_every_sm();
    launch.shared_bytes = gpu_.shared_bytes_to_reach_every_sm(launch.carve_out_bytes, sizeof(std::uint32_t));
  }
  kernel_.launch(launch, parameters);

  std::vector<BlockRecord> records(wanted.size());
  gpu_.download(records.data(), base + layout.records, records.size() * sizeof(BlockRecord));
  for (std::size_t slot = 0; slot < records.size(); ++slot) {
    if (records[slot].claimed == 0 || records[slot].error != 0) {
      throw NotSupportedError(
          fmt::format("no block of the launch ran on SM {}: this GPU may number its {} SMs with gaps",
                      wanted[records[slot].claimed == 0 ? slot : 1 - slot], gpu_.info().sm_count));
    }
  }
  InstructionResult result{.block_bytes = sizes.block_bytes, .loop_bytes = sizes.loop_bytes};
  for (const std::uint32_t slot : slots) result.sms.push_back(gpu_.sm_of(records[slot].sm));
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    auto& cycles = result.pass_cycles.emplace_back(program.steps[i].passes);
    gpu_.download(cycles.data(), layout.steps[i].result, cycles.size() * sizeof(std::uint64_t));
  }
  return {.data = std::move(result),
          .sm_clock_mhz = gpu_.clock_mhz(records.front()),
          .shared_carve_out_bytes = launch.carve_out_bytes};
}

}  // namespace gputopo::launch
