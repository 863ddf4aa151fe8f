#include "probe/code/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/bench/value_or_throw.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

struct CodeTrialParameters {
  // Passes after the first, of which the median counts; odd.
  std::uint32_t steady_passes = 5;
  // Part of the capacity to be evicted: clear of the edge, and so large that 64 KiB of constants exceed the rest.
  double victim_part = 0.85;
  // Most other code, in capacities; at least 1. Larger values evict more under any replacement, but take longer.
  double max_evictor = 3;
  // Passes over it: a single one leaves something in a cache that does not replace the oldest line.
  std::uint32_t evictor_passes = 2;
  // A walk over constants with fewer cycles per load did not wait for them.
  double least_cycles_per_load = 4;
};
constexpr CodeTrialParameters kCodeTrialParameters;

std::uint32_t whole_blocks(double instructions) {
  return std::max(1u, static_cast<std::uint32_t>(instructions) / kCodeBlockInstructions) * kCodeBlockInstructions;
}

}  // namespace

InstructionProgram repeated_run(std::uint32_t count, std::uint32_t lead) {
  return {.actors = {{}},
          .steps = {{.count = count, .lead = lead},
                    {.count = count, .passes = kCodeTrialParameters.steady_passes, .lead = lead}}};
}

InstructionProgram repeated(CodeStepKind kind, std::uint32_t count) {
  InstructionProgram program = repeated_run(count);
  for (CodeStep& step : program.steps) step.kind = kind;
  return program;
}

double steady_cycles(const InstructionResult& result) {
  const std::vector<std::uint64_t>& passes = result.pass_cycles.back();
  return stats::median(std::vector<double>(passes.begin(), passes.end()));
}

std::vector<std::uint32_t> counts_by_octave(std::uint32_t first, std::uint32_t last, double per_octave) {
  std::vector<std::uint32_t> counts;
  for (double at = first; at < last; at *= std::exp2(1 / per_octave)) {
    const auto whole = static_cast<std::uint32_t>(std::lround(at));
    if (counts.empty() || whole != counts.back()) counts.push_back(whole);
  }
  counts.push_back(last);
  return counts;
}

std::vector<double> steady_medians(const std::vector<InstructionResult>& results) {
  std::vector<double> medians;
  for (std::size_t i = 0; i < results.size(); i += kCodeCopies) {
    std::vector<double> copies;
    for (std::size_t copy = i; copy < i + kCodeCopies; ++copy) copies.push_back(steady_cycles(results[copy]));
    medians.push_back(stats::median(copies));
  }
  return medians;
}

std::vector<double> missed_parts(ProbeRunner& runner, const CodeCache& cache,
                                 const std::vector<std::uint32_t>& instructions) {
  std::vector<InstructionProgram> programs;
  for (const std::uint32_t count : instructions) programs.insert(programs.end(), kCodeCopies, repeated_run(count));
  const std::vector<double> cycles = steady_medians(runner.code(programs));
  std::vector<double> parts;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const double each = (cycles[i] - cache.survey->pass_cycles) / instructions[i];
    parts.push_back((each - cache.plateau().value) / (cache.next().value - cache.plateau().value));
  }
  return parts;
}

CodeEviction::CodeEviction(ProbeRunner& runner, const CodeCache& cache)
    : runner_(runner), victim_(whole_blocks(kCodeTrialParameters.victim_part * cache.fits_instructions)) {
  evictor_first_ = (victim_ + kCodeEntryInstructions - 1) / kCodeEntryInstructions * kCodeEntryInstructions;
  evictor_count_ = std::min(kMaxCodeInstructions - std::min(evictor_first_, kMaxCodeInstructions),
                            whole_blocks(kCodeTrialParameters.max_evictor * cache.fits_instructions));
  if (evictor_count_ < cache.fits_instructions) {
    throw NotSupportedError(fmt::format(
        "to evict {} instructions, other code must fill this cache, but only {} other instructions are available",
        victim_, evictor_count_));
  }
  const double untouched = cycles_after({});
  scale_ = value_or_throw(runner, "code",
                          eviction_scale(untouched, cycles_after({.kind = CodeEvictor::Kind::kCode}), victim_));
}

InstructionProgram CodeEviction::program_of(const CodeEvictor& evictor) const {
  InstructionProgram program{.actors = {{}}, .steps = {{.count = victim_, .passes = 2}}};
  if (evictor.sm) program.actors[0].sm = evictor.victim_sm;
  if (evictor.kind != CodeEvictor::Kind::kNobody) {
    program.actors.push_back({.sm = evictor.sm, .warp = evictor.warp});
    CodeStep step{.kind = CodeStepKind::kConstants,
                  .actor = 1,
                  .count = static_cast<std::uint32_t>(runner_.info().constant_bytes.value_or(64 << 10))};
    if (evictor.kind == CodeEvictor::Kind::kCode) {
      step = {.actor = 1, .first = evictor_first_, .count = evictor_count_};
    }
    step.passes = kCodeTrialParameters.evictor_passes;
    program.steps.push_back(step);
  }
  program.steps.push_back({.count = victim_});
  return program;
}

double CodeEviction::cycles_after(const CodeEvictor& evictor, std::size_t copies) {
  const InstructionProgram program = program_of(evictor);
  std::vector<double> cycles;
  for (const InstructionResult& result : runner_.code(std::vector<InstructionProgram>(copies, program))) {
    cycles.push_back(static_cast<double>(result.pass_cycles.back().front()));
    if (evictor.kind != CodeEvictor::Kind::kConstants) continue;
    const auto walk = static_cast<double>(result.pass_cycles[1].front());
    const std::uint32_t bytes = program.steps[1].count;
    if (walk < kCodeTrialParameters.least_cycles_per_load * bytes / kConstantStepBytes) {
      throw NotSupportedError(fmt::format(
          "loads of {} B of constants took only {:.0f} cycles, which is impossible: the program did not run as written",
          bytes, walk));
    }
  }
  return stats::median(cycles);
}

std::vector<double> CodeEviction::evicted_parts(const std::vector<CodeEvictor>& evictors, std::size_t copies) {
  std::vector<double> parts;
  for (const CodeEvictor& evictor : evictors) parts.push_back(scale_.part(cycles_after(evictor, copies)));
  return parts;
}

}  // namespace gputopo::probe
