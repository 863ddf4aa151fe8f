#include "probe/code/survey.h"

#include <fmt/format.h>

#include "probe/code/trial.h"

namespace gputopo::probe {
namespace {

struct CodeSurveyParameters {
  // Larger values separate levels that are closer together, but take longer.
  double lengths_per_octave = 16;
  // Copies of the shortest lengths, which give the overhead of a pass and are mostly that; odd, for a median.
  std::uint32_t short_copies = 15;
};
constexpr CodeSurveyParameters kCodeSurveyParameters;

}  // namespace

CodeSurvey survey_code(ProbeRunner& runner) {
  std::vector<CodePasses> lengths;
  std::vector<InstructionProgram> programs;
  std::vector<std::size_t> length_of;  // of each program
  for (const std::uint32_t blocks : counts_by_octave(1, kMaxCodeBlocks, kCodeSurveyParameters.lengths_per_octave)) {
    const std::uint32_t copies = blocks <= CodeSweepParameters{}.line_blocks ? kCodeSurveyParameters.short_copies : 1;
    length_of.insert(length_of.end(), copies, lengths.size());
    lengths.push_back({.instructions = blocks * kCodeBlockInstructions});
    programs.insert(programs.end(), copies, repeated_run(lengths.back().instructions));
  }
  const std::vector<InstructionResult> results = runner.code(programs);
  for (std::size_t i = 0; i < results.size(); ++i) lengths[length_of[i]].cycles.push_back(steady_cycles(results[i]));
  const double block_bytes = results.front().block_bytes;
  CodeSurvey survey{read_code_sweep(lengths, block_bytes), block_bytes, results.front().loop_bytes,
                    runner.conditions()};
  for (const stats::Plateau& level : survey.levels) {
    runner.log(fmt::format("code: {:.2f} cycles per instruction from {:.0f} to {:.0f} B", level.value,
                           survey.footprints_bytes[level.first], survey.footprints_bytes[level.last]));
  }
  runner.log(
      fmt::format("code: a block of {} instructions has {} B; the loop around the blocks adds {:.0f} cycles per pass "
                  "and at most {} B of code",
                  kCodeBlockInstructions, survey.block_bytes, survey.pass_cycles, survey.loop_bytes));
  return survey;
}

CodeCache find_code_cache(const CodeSurvey& survey, std::size_t level) {
  if (!begins_with_level(survey)) {
    throw Inconclusive(
        "the shortest code does not show a constant time per instruction, so no level can be identified");
  }
  for (std::size_t i = 0; i <= level && i + 1 < survey.levels.size(); ++i) {
    if (!survey.levels[i].may_be_two) continue;
    throw Inconclusive(
        "within one level, the time per instruction rises and stays higher: the level may be two caches");
  }
  if (level + 1 < survey.levels.size()) return {.survey = &survey, .level = level};
  const double most = survey.footprints_bytes.back();
  if (level == 0) {
    throw NotSupportedError(fmt::format(
        "code of every length up to {:.0f} B takes {:.2f} cycles per instruction, so the cache is at least that large",
        most, survey.levels[0].value));
  }
  // Memory may follow the last of them, or a cache that holds all of the code.
  throw NotSupportedError(
      fmt::format("code of up to {:.0f} B shows {} level{} of instruction caches; it cannot show a further cache that "
                  "holds all of this code",
                  most, survey.levels.size() - 1, survey.levels.size() == 2 ? "" : "s"));
}

}  // namespace gputopo::probe
