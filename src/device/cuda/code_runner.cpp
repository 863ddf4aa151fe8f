#include "device/cuda/code_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/cuda/machine_code.h"
#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

constexpr double kMostLaunchCycles = 1e9;
// The slowest we expect, to refuse what would take too long: instructions from memory, constants that miss everywhere.
constexpr double kCyclesPerInstruction = 16;
constexpr double kCyclesPerConstant = 1000;
// How long blocks on other SMs stay, so that the launch puts a block on every SM.
constexpr std::uint32_t kPatienceCycles = 20'000;
constexpr std::uint32_t kBlocks = kMostCodeInstructions / kCodeBlockInstructions;

double estimated_cycles(const InstructionProgram& program) {
  double cycles = 0;
  for (const CodeStep& step : program.steps) {
    const double once = step.kind == CodeStepKind::kRun ? kCyclesPerInstruction * step.count
                                                        : kCyclesPerConstant * step.count / kConstantStepBytes;
    cycles += once * step.passes;
  }
  return cycles;
}

// Sections are padded to whole multiples of a few instructions, so the difference of two is off by a little; a block of
// most GPUs is a whole number of 16-byte instructions.
double whole_instructions(double bytes) {
  constexpr double kInstruction = 16;
  constexpr double kPadding = 0.5;
  const double whole = std::round(bytes / kInstruction) * kInstruction;
  return std::abs(bytes - whole) <= kPadding ? whole : std::round(bytes * 100) / 100;
}

// What lies in device memory for one launch.
struct Layout {
  std::vector<CodeStepTask> steps;
  std::uint64_t records = 0;  // offsets
  std::uint64_t turn = 0;
  std::uint64_t passes = 0;
  std::uint64_t bytes = 0;
};

Layout lay_out(const InstructionProgram& program, const std::vector<std::uint32_t>& slots, DevicePointer base) {
  Layout layout;
  layout.records = program.steps.size() * sizeof(CodeStepTask);
  layout.turn = layout.records + kMostCodeSms * sizeof(BlockRecord);
  layout.passes = layout.turn + sizeof(std::uint64_t);
  layout.bytes = layout.passes;
  for (const CodeStep& step : program.steps) {
    const CodeActor& actor = program.actors[step.actor];
    const bool runs = step.kind == CodeStepKind::kRun;
    CodeStepTask& task = layout.steps.emplace_back(CodeStepTask{});
    task.result = base + layout.bytes;
    task.kind = static_cast<std::uint32_t>(step.kind);
    task.slot = slots[step.actor];
    task.thread = 32 * actor.warp;
    task.entry = step.first / kCodeEntryInstructions;
    task.last = runs ? (step.first + step.count) / kCodeBlockInstructions - 1 : 0;
    task.bytes = runs ? 0 : step.count;
    task.passes = step.passes;
    layout.bytes += step.passes * sizeof(std::uint64_t);
  }
  return layout;
}

}  // namespace

const CodeRunner::Code& CodeRunner::code() {
  if (code_) return *code_;
  const std::string binary = compile(*gpu_.driver(), generate_code_ptx(gpu_.target()));
  const auto long_bytes = static_cast<double>(code_bytes(binary, "code"));
  const auto short_bytes = static_cast<double>(code_bytes(binary, "short_code"));
  const double block = whole_instructions((long_bytes - short_bytes) / (kBlocks - kShortCodeBlocks));
  const double around = std::max(0.0, short_bytes - block * kShortCodeBlocks);
  code_.emplace(Code{Module(gpu_.driver(), binary), block, static_cast<std::uint32_t>(around)});
  return *code_;
}

ProgramResult CodeRunner::run(const InstructionProgram& program) {
  if (const double cycles = estimated_cycles(program); cycles > kMostLaunchCycles) {
    throw UsageError(
        fmt::format("program: its steps may take {:.0e} cycles, and a launch may last {:.0e}; give it fewer passes",
                    cycles, kMostLaunchCycles));
  }
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

  const Code& compiled = code();
  const DevicePointer base = gpu_.reserve(lay_out(program, slots, 0).bytes);
  const Layout layout = lay_out(program, slots, base);
  gpu_.clear(base, layout.bytes);
  gpu_.upload(base, layout.steps.data(), layout.steps.size() * sizeof(CodeStepTask));
  CodeParameters parameters{.steps = base,
                            .records = base + layout.records,
                            .turn = base + layout.turn,
                            .step_count = static_cast<std::uint32_t>(layout.steps.size()),
                            .never = kNever,
                            .patience_cycles = kPatienceCycles,
                            .longest_wait_cycles = static_cast<std::uint32_t>(kMostLaunchCycles)};
  parameters.wanted_sm[0] = wanted.front();
  parameters.wanted_sm[1] = wanted.back();

  Launch launch{.threads = 32 * warps};
  launch.carve_out_bytes = gpu_.carve_out_for(0, sizeof(std::uint32_t), 1);
  launch.shared_bytes = gpu_.shared_bytes_for_one_block(launch.carve_out_bytes, sizeof(std::uint32_t));
  if (wanted.front() != kAnySm) launch.blocks = gpu_.info().sm_count;
  gpu_.run(compiled.module.function("code"), "code", launch, {&parameters});

  std::vector<BlockRecord> records(wanted.size());
  gpu_.download(records.data(), base + layout.records, records.size() * sizeof(BlockRecord));
  for (std::size_t slot = 0; slot < records.size(); ++slot) {
    if (records[slot].claimed == 0 || records[slot].error != 0) {
      throw NotSupportedError(
          fmt::format("no block of the launch ran on SM {}: this GPU may number its {} SMs with gaps",
                      wanted[records[slot].claimed == 0 ? slot : 1 - slot], gpu_.info().sm_count));
    }
  }
  InstructionResult result{.block_bytes = compiled.block_bytes, .loop_bytes = compiled.loop_bytes};
  for (const std::uint32_t slot : slots) result.sms.push_back(records[slot].sm);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    auto& cycles = result.pass_cycles.emplace_back(program.steps[i].passes);
    gpu_.download(cycles.data(), layout.steps[i].result, cycles.size() * sizeof(std::uint64_t));
  }
  return {.data = std::move(result),
          .sm_clock_mhz = gpu_.clock_mhz(records.front()),
          .shared_carve_out_bytes = launch.carve_out_bytes};
}

}  // namespace gputopo::cuda
