// The sweep: straight-line code of growing length, run again and again by one warp. While a cache holds it, an
// instruction takes what that cache needs to supply it; each level is a plateau.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "probe/code.h"
#include "probe/code_trial.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

// The cost of a pass is where a line through the footprints up to this many blocks meets zero: 1.5 KiB, less than any
// instruction cache known. They are little but that cost, so they are measured often.
constexpr std::uint32_t kMostLineBlocks = 3;
constexpr std::uint32_t kLineCopies = 15;
// The first level must have begun by then: the smallest instruction cache known has 4 KiB.
constexpr std::uint32_t kFirstLevelBlocks = 6;
constexpr double kFootprintsPerOctave = 16;

std::vector<std::uint32_t> footprints_blocks() {
  std::vector<std::uint32_t> blocks;
  for (double at = 1; at < kMostCodeBlocks; at *= std::exp2(1 / kFootprintsPerOctave)) {
    const auto whole = static_cast<std::uint32_t>(std::lround(at));
    if (blocks.empty() || whole != blocks.back()) blocks.push_back(whole);
  }
  blocks.push_back(kMostCodeBlocks);
  return blocks;
}

}  // namespace

CodeSurvey survey_code(Lab& lab) {
  CodeSurvey survey;
  std::vector<InstructionProgram> programs;
  for (const std::uint32_t blocks : footprints_blocks()) {
    survey.instructions.push_back(blocks * kCodeBlockInstructions);
    const std::uint32_t copies = blocks <= kMostLineBlocks ? kLineCopies : 1;
    programs.insert(programs.end(), copies, repeated_run(survey.instructions.back()));
  }
  const std::vector<InstructionResult> results = lab.code(programs);
  survey.block_bytes = results.front().block_bytes;
  survey.loop_bytes = results.front().loop_bytes;
  std::map<std::uint32_t, std::vector<double>> copies;  // by instructions
  for (std::size_t i = 0; i < results.size(); ++i) {
    copies[programs[i].steps.back().count].push_back(steady_cycles(results[i]));
  }
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> cycles;
  for (const auto& [count, passes] : copies) {
    cycles.push_back(stats::median(passes));
    if (count > kMostLineBlocks * kCodeBlockInstructions) continue;
    x.push_back(count);
    y.push_back(cycles.back());
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
  survey.conditions = lab.conditions();
  return survey;
}

CodeCache find_code_cache(const CodeSurvey& survey, std::size_t level) {
  // Code that fits nearest is the start of every curve; if that is no plateau, nothing can be said of what follows.
  if (survey.levels.empty() ||
      survey.instructions[survey.levels.front().first] > kFirstLevelBlocks * kCodeBlockInstructions) {
    throw Inconclusive("the time of an instruction never stays level while the code grows");
  }
  if (level + 1 < survey.levels.size()) return {.survey = &survey, .level = level};
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
