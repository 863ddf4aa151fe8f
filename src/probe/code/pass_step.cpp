#include "probe/code/pass_step.h"

#include <cmath>

#include "probe/bench/intervals.h"
#include "probe/bench/value_or_throw.h"
#include "probe/code/jumps.h"
#include "probe/code/pass_step_decision.h"
#include "probe/code/survey.h"
#include "probe/code/trial.h"
#include "probe/survey/site.h"

namespace gputopo::probe {
namespace {

struct PassStepSweep {
  // Lengths per octave, up to this part of the next cache: code beyond may miss there.
  double lengths_per_octave = 16;
  double of_next = 0.75;
};
constexpr PassStepSweep kPassSteps;

// All passes in steady state: a median would hide those that wait.
CodePasses passes_of(std::uint32_t instructions, const InstructionResult* copies) {
  CodePasses length{.instructions = instructions, .cycles = {}};
  for (std::uint32_t copy = 0; copy < kCodeCopies; ++copy) {
    const std::vector<std::uint64_t>& passes = copies[copy].pass_cycles.back();
    length.cycles.insert(length.cycles.end(), passes.begin(), passes.end());
  }
  return length;
}

std::vector<CodePasses> measure_lengths(ProbeRunner& runner, const std::vector<std::uint32_t>& lengths,
                                        std::uint32_t first) {
  std::vector<InstructionProgram> programs;
  for (const std::uint32_t instructions : lengths) {
    InstructionProgram program = repeated_run(instructions);
    for (CodeStep& step : program.steps) step.first = first;
    programs.insert(programs.end(), kCodeCopies, program);
  }
  const std::vector<InstructionResult> results = runner.code(programs);
  std::vector<CodePasses> passes;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    passes.push_back(passes_of(lengths[i], results.data() + i * kCodeCopies));
  }
  return passes;
}

// Code that begins elsewhere lies in other sets if the index is hashed.
void require_everywhere(ProbeRunner& runner, const PassStep& step, const std::vector<CodePasses>& lengths) {
  const std::vector<std::uint32_t> both = {lengths[step.last_before].instructions,
                                           lengths[step.first_behind].instructions};
  for (std::uint32_t first = kCodeEntryInstructions; first + both.back() <= kMaxCodeInstructions;
       first += kCodeEntryInstructions) {
    const std::vector<CodePasses> passes = measure_lengths(runner, both, first);
    if (!is_same_step(step, passes.front(), passes.back())) {
      throw Inconclusive(
          "the step in pass time does not appear at the same code length when the code is at another address");
    }
  }
}

SampleTable pass_table(const std::vector<CodePasses>& lengths, double bytes_per_instruction) {
  SampleTable table =
      make_table("passes", Plot::kPoints, {footprint_axis(), values("cycles_per_pass", "cycles per pass")});
  for (const CodePasses& length : lengths) {
    for (const double cycles : length.cycles) {
      table.data[0].push_back(length.instructions * bytes_per_instruction);
      table.data[1].push_back(cycles);
    }
  }
  return table;
}

}  // namespace

Attribute hidden_code_size(ProbeRunner& runner, const CodeSurvey& survey, std::uint32_t next_fits,
                           const CodeJumps& jumps, bool keep_samples) {
  const double bytes_per_instruction = survey.block_bytes / kCodeBlockInstructions;
  const auto most = static_cast<std::uint32_t>(kPassSteps.of_next * next_fits / kCodeBlockInstructions);
  if (most < 2) throw Inconclusive("the next cache is too small to show a step in the time of a pass");
  std::vector<std::uint32_t> instructions = counts_by_octave(1, most, kPassSteps.lengths_per_octave);
  for (std::uint32_t& count : instructions) count *= kCodeBlockInstructions;
  const std::vector<CodePasses> lengths = measure_lengths(runner, instructions, 0);
  const std::vector<double> longer = longer_jumps(jumps.far, next_fits * bytes_per_instruction);
  const PassStep step = value_or_throw(runner, "code", decide_pass_step(lengths, longer));
  require_everywhere(runner, step, lengths);
  const double fits = instructions[step.last_before] * bytes_per_instruction;
  const double surely = step.last_without ? instructions[*step.last_without] * bytes_per_instruction : 0;
  const double misses = instructions[step.first_behind] * bytes_per_instruction + survey.loop_bytes;
  Attribute attribute =
      measured(runner.conditions(), std::round(fits), "B", stats::Interval{surely, misses}, "step_of_passes");
  attribute.add_detail("step_cycles", rounded(step.cycles));
  attribute.add_detail("max_loop_bytes", static_cast<std::int64_t>(survey.loop_bytes));
  if (keep_samples) attribute.samples.push_back(pass_table(lengths, bytes_per_instruction));
  return attribute;
}

}  // namespace gputopo::probe
