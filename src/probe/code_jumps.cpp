// Jumps over ever more blocks of code, by one warp, near one another and far apart.
#include <fmt/format.h>

#include <cmath>

#include "probe/code.h"
#include "probe/code_trial.h"
#include "probe/intervals.h"
#include "probe/settle.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

struct JumpSurveyParameters {
  // Counts per octave. More resolves levels that are nearer each other; the survey takes longer.
  double counts_per_octave = 16;
  // Passes of each. Odd, so that a median is a sample.
  std::uint32_t copies = 3;
};
constexpr JumpSurveyParameters kSurvey;

InstructionProgram repeated_jumps(CodeStepKind kind, std::uint32_t count) {
  InstructionProgram program = repeated_run(count);
  for (CodeStep& step : program.steps) step.kind = kind;
  return program;
}

JumpCurve curve_of(Lab& lab, CodeStepKind kind, double& loop_bytes) {
  const std::vector<std::uint32_t> counts = counts_by_octave(2, max_jumps(kind), kSurvey.counts_per_octave);
  std::vector<InstructionProgram> programs;
  for (const std::uint32_t count : counts) {
    programs.insert(programs.end(), kSurvey.copies, repeated_jumps(kind, count));
  }
  const std::vector<InstructionResult> results = lab.code(programs);
  std::vector<CodePasses> lengths;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    CodePasses& length = lengths.emplace_back(CodePasses{.instructions = counts[i], .cycles = {}});
    for (std::size_t copy = 0; copy < kSurvey.copies; ++copy) {
      length.cycles.push_back(steady_cycles(results[i * kSurvey.copies + copy]));
    }
  }
  const double block_bytes = results.front().block_bytes;
  const std::uint32_t filler = kind == CodeStepKind::kNearJumps ? kNearJumpFiller : kFarJumpFiller;
  loop_bytes = results.front().loop_bytes;
  JumpCurve curve =
      read_jump_curve(lengths, block_bytes, block_bytes * kJumpInstructions / (kJumpInstructions + filler));
  for (const stats::Plateau& level : curve.levels) {
    lab.log(fmt::format("{}: {:.1f} cycles a jump from {} to {} blocks of {:.0f} B",
                        kind == CodeStepKind::kNearJumps ? "near jumps" : "far jumps", level.value,
                        curve.jumps[level.first], curve.jumps[level.last], block_bytes));
  }
  return curve;
}

SampleTable jump_table(const char* name, const JumpCurve& curve) {
  SampleTable table = make_table(name, Plot::kLine, {footprint_axis(), values("cycles_per_jump", "cycles per jump")});
  table.data = {curve.footprints_bytes, curve.cycles_per_jump};
  return table;
}

}  // namespace

CodeJumps survey_jumps(Lab& lab) {
  CodeJumps jumps;
  jumps.far = curve_of(lab, CodeStepKind::kFarJumps, jumps.loop_bytes);
  jumps.near = curve_of(lab, CodeStepKind::kNearJumps, jumps.loop_bytes);
  jumps.conditions = lab.conditions();
  return jumps;
}

std::size_t level_of_cache(const Lab& lab, const CodeJumps& jumps, const std::vector<KnownCodeCache>& caches,
                           std::size_t cache) {
  return settle(lab, "code", find_jump_levels(jumps.far, caches).at(cache));
}

Attribute jump_latency(const CodeJumps& jumps, std::size_t level, bool keep_samples) {
  const JumpLatency latency = latency_of_level(jumps.far, level);
  Attribute attribute =
      measured(jumps.conditions, rounded(latency.cycles), "cycles", latency.interval, "plateau_of_jumps");
  attribute.add_detail("block_bytes", jumps.far.block_bytes);
  attribute.add_detail("far_blocks", static_cast<std::int64_t>(jumps.far.jumps[jumps.far.levels[level].last]));
  if (keep_samples) attribute.samples.push_back(jump_table("jumps", jumps.far));
  return attribute;
}

Attribute nearest_code_size(const Lab& lab, const CodeJumps& jumps, double behind_bytes, bool keep_samples) {
  const NearestCode code =
      settle(lab, "code", decide_nearest_code(jumps.near, jumps.far, behind_bytes, jumps.loop_bytes));
  Attribute attribute = measured(jumps.conditions, std::round(code.bytes), "B", code.interval, "edge_of_jumps");
  attribute.add_detail("far_blocks", static_cast<std::int64_t>(jumps.far.jumps[jumps.far.levels.front().last]));
  attribute.add_detail("loop_bytes_at_most", static_cast<std::int64_t>(jumps.loop_bytes));
  if (keep_samples) attribute.samples.push_back(jump_table("jumps", jumps.near));
  return attribute;
}

}  // namespace gputopo::probe
