#include "probe/code/jumps.h"

#include <fmt/format.h>

#include <cmath>

#include "probe/bench/intervals.h"
#include "probe/bench/value_or_throw.h"
#include "probe/code/trial.h"
#include "probe/survey/site.h"

namespace gputopo::probe {
namespace {

struct JumpSurveyParameters {
  // Larger values separate levels that are closer together, but take longer.
  double counts_per_octave = 16;
  // Copies of each program; odd, so that a median is a sample.
  std::uint32_t copies = 3;
};
constexpr JumpSurveyParameters kJumpSurvey;

// Passes over growing numbers of blocks.
struct JumpSurvey {
  std::vector<CodePasses> lengths;
  double block_bytes = 0;
  double loop_bytes = 0;
};
JumpSurvey survey_of(ProbeRunner& runner, CodeStepKind kind) {
  const std::vector<std::uint32_t> counts = counts_by_octave(2, max_count(kind), kJumpSurvey.counts_per_octave);
  std::vector<InstructionProgram> programs;
  for (const std::uint32_t count : counts) programs.insert(programs.end(), kJumpSurvey.copies, repeated(kind, count));
  const std::vector<InstructionResult> results = runner.code(programs);
  JumpSurvey survey{.block_bytes = results.front().block_bytes,
                    .loop_bytes = static_cast<double>(results.front().loop_bytes)};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    CodePasses& length = survey.lengths.emplace_back(CodePasses{.instructions = counts[i], .cycles = {}});
    for (std::size_t copy = 0; copy < kJumpSurvey.copies; ++copy) {
      length.cycles.push_back(steady_cycles(results[i * kJumpSurvey.copies + copy]));
    }
  }
  return survey;
}

JumpCurve curve_of(const ProbeRunner& runner, CodeStepKind kind, const JumpSurvey& survey, const PassCost& pass) {
  const double runs = static_cast<double>(kJumpInstructions) / (kJumpInstructions + jump_filler(kind));
  JumpCurve curve = read_jump_curve(survey.lengths, pass, survey.block_bytes, survey.block_bytes * runs);
  curve.loop_bytes = survey.loop_bytes;
  for (const stats::Plateau& level : curve.levels) {
    runner.log(fmt::format("{}: {:.1f} cycles per jump for {} to {} blocks of {:.0f} B", to_string(kind), level.value,
                           curve.jumps[level.first], curve.jumps[level.last], survey.block_bytes));
  }
  return curve;
}

SampleTable jump_table(const char* name, const JumpCurve& curve) {
  SampleTable table = make_table(name, Plot::kLine, {footprint_axis(), values("cycles_per_jump", "cycles per jump")});
  table.data = {curve.footprints_bytes, curve.cycles_per_jump};
  return table;
}

}  // namespace

CodeJumps survey_jumps(ProbeRunner& runner) {
  CodeJumps jumps;
  const JumpSurvey far = survey_of(runner, CodeStepKind::kFarJumps);
  const JumpSurvey near = survey_of(runner, CodeStepKind::kNearJumps);
  const PassCost pass = cost_of_pass(near.lengths);
  jumps.far = curve_of(runner, CodeStepKind::kFarJumps, far, pass);
  jumps.near = curve_of(runner, CodeStepKind::kNearJumps, near, pass);
  jumps.conditions = runner.conditions();
  return jumps;
}

std::size_t level_of_cache(const ProbeRunner& runner, const CodeJumps& jumps, const std::vector<KnownCodeCache>& caches,
                           std::size_t cache) {
  return value_or_throw(runner, "code", find_jump_levels(jumps.near, jumps.far, caches).at(cache));
}

Attribute jump_latency(const CodeJumps& jumps, std::size_t level, bool keep_samples) {
  const JumpLatency latency = latency_of_level(jumps.near, jumps.far, level);
  Attribute attribute =
      measured(jumps.conditions, rounded(latency.cycles), "cycles", latency.interval, "plateau_of_jumps");
  attribute.add_detail("block_bytes", jumps.far.block_bytes);
  attribute.add_detail("far_blocks", static_cast<std::int64_t>(jumps.far.jumps[jumps.far.levels[level].last]));
  if (keep_samples) attribute.samples.push_back(jump_table("jumps", jumps.far));
  return attribute;
}

Attribute nearest_code_size(const ProbeRunner& runner, const CodeJumps& jumps, double behind_bytes, bool keep_samples) {
  const NearestCode code = value_or_throw(runner, "code", decide_nearest_code(jumps.near, jumps.far, behind_bytes));
  Attribute attribute = measured(jumps.conditions, std::round(code.bytes), "B", code.interval, "edge_of_jumps");
  attribute.add_detail("far_blocks", static_cast<std::int64_t>(jumps.far.jumps[jumps.far.levels.front().last]));
  attribute.add_detail("max_loop_bytes", static_cast<std::int64_t>(jumps.near.loop_bytes));
  if (keep_samples) attribute.samples.push_back(jump_table("jumps", jumps.near));
  return attribute;
}

}  // namespace gputopo::probe
