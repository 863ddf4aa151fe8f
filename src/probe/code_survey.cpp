// The sweep: straight-line code of growing length, run again and again by one warp. While a cache holds it, an
// instruction takes what that cache needs to supply it; each level is a plateau.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/code.h"
#include "probe/code_trial.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kBlocks = kMostCodeInstructions / kCodeBlockInstructions;
// Blocks of the shortest footprint; shorter ones are little but the cost of a pass.
constexpr std::uint32_t kLeastBlocks = 2;
// The cost of a pass is where a line through the footprints up to this many blocks meets zero: at most 4 KiB on the
// GPUs so far, which is the smallest instruction cache that any is known to have.
constexpr std::uint32_t kMostLineBlocks = 8;
constexpr double kFootprintsPerOctave = 16;

std::vector<std::uint32_t> footprints_blocks() {
  std::vector<std::uint32_t> blocks;
  for (double at = kLeastBlocks; at < kBlocks; at *= std::exp2(1 / kFootprintsPerOctave)) {
    const auto whole = static_cast<std::uint32_t>(std::lround(at));
    if (blocks.empty() || whole != blocks.back()) blocks.push_back(whole);
  }
  blocks.push_back(kBlocks);
  return blocks;
}

}  // namespace

CodeSurvey survey_code(Lab& lab) {
  CodeSurvey survey;
  std::vector<InstructionProgram> programs;
  for (const std::uint32_t blocks : footprints_blocks()) {
    survey.instructions.push_back(blocks * kCodeBlockInstructions);
    programs.push_back(repeated_run(survey.instructions.back()));
  }
  const std::vector<InstructionResult> results = lab.code(programs);
  survey.block_bytes = results.front().block_bytes;
  survey.loop_bytes = results.front().loop_bytes;
  std::vector<double> cycles;
  for (const InstructionResult& result : results) cycles.push_back(steady_cycles(result));

  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t i = 0; i < cycles.size() && survey.instructions[i] <= kMostLineBlocks * kCodeBlockInstructions;
       ++i) {
    x.push_back(survey.instructions[i]);
    y.push_back(cycles[i]);
  }
  survey.pass_cycles = std::max(0.0, stats::fit_line(x, y).intercept);
  for (std::size_t i = 0; i < cycles.size(); ++i) {
    survey.footprints_bytes.push_back(survey.instructions[i] * survey.block_bytes / kCodeBlockInstructions);
    survey.cycles_per_instruction.push_back((cycles[i] - survey.pass_cycles) / survey.instructions[i]);
  }
  survey.levels = stats::find_plateaus(survey.footprints_bytes, survey.cycles_per_instruction);
  for (const stats::Plateau& level : survey.levels) {
    lab.log(fmt::format("code: {:.2f} cycles an instruction from {:.0f} to {:.0f} B", level.value,
                        survey.footprints_bytes[level.first], survey.footprints_bytes[level.last]));
  }
  lab.log(fmt::format("code: a block of {} instructions takes {} B, a pass {:.0f} cycles and at most {} B beside",
                      kCodeBlockInstructions, survey.block_bytes, survey.pass_cycles, survey.loop_bytes));
  return survey;
}

CodeCache find_code_cache(const CodeSurvey& survey, std::size_t level) {
  // Code that fits nearest is the start of every curve; if that is no plateau, nothing can be said of what follows.
  if (survey.levels.empty() ||
      survey.instructions[survey.levels.front().first] > kMostLineBlocks * kCodeBlockInstructions) {
    throw Inconclusive("the time of an instruction never stays level while the code grows");
  }
  if (level + 1 < survey.levels.size()) return {&survey, level, 0};
  const double most = survey.footprints_bytes.back();
  if (level == 0) {
    throw NotSupportedError(fmt::format(
        "code of every length up to {:.0f} B takes {:.2f} cycles an instruction, so the cache is at least that large",
        most, survey.levels[0].value));
  }
  throw NotPresent(
      fmt::format("code of up to {:.0f} B shows {} levels of instruction caches", most, survey.levels.size() - 1));
}

}  // namespace gputopo::probe
