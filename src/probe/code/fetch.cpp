#include "probe/code/fetch.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "probe/bench/value_or_throw.h"
#include "probe/code/fetch_decision.h"
#include "probe/code/jumps.h"
#include "probe/code/trial.h"
#include "probe/survey/site.h"

namespace gputopo::probe {
namespace {

// Both must agree: of more blocks, some may miss if each lies in two lines.
constexpr std::uint32_t kJumps[] = {kFewAlignedJumps, kManyAlignedJumps};

// A block lies in one or two lines.
constexpr std::uint32_t kLinesOfBlock = 2;

struct AlignedJumps {
  std::vector<double> cycles;  // of a pass, by alignment
  double block_bytes = 0;
};
AlignedJumps jumps_of(ProbeRunner& runner, std::uint32_t count) {
  std::vector<InstructionProgram> programs;
  for (std::uint32_t alignment = 0; alignment < kAlignments; ++alignment) {
    InstructionProgram program = repeated(CodeStepKind::kAlignedJumps, count);
    for (CodeStep& step : program.steps) step.first = alignment;
    programs.insert(programs.end(), kCodeCopies, program);
  }
  const std::vector<InstructionResult> results = runner.code(programs);
  return {steady_medians(results), results.front().block_bytes};
}

}  // namespace

Attribute measure_fetch_size(ProbeRunner& runner, const CodeJumps& jumps_over_code, bool keep_samples) {
  const JumpCurve& far = jumps_over_code.far;
  if (far.levels.empty() || far.jumps[far.levels.front().last] < kLinesOfBlock * kManyAlignedJumps) {
    throw Inconclusive(
        "the nearest cache holds too few code blocks, so jump times would have the period of the line size, not of the "
        "fetch size");
  }
  AlignedJumps jumps;
  std::optional<std::size_t> period;
  for (const std::uint32_t count : kJumps) {
    jumps = jumps_of(runner, count);
    const std::size_t found = value_or_throw(runner, "code", decide_fetch_period(jumps.cycles));
    if (period && found != *period) {
      throw Inconclusive(fmt::format(
          "the jump times have a period of {} instructions for few jumps, but of {} instructions for more jumps",
          *period, found));
    }
    period = found;
  }
  // A period moves a block by a whole number of fetches, which are powers of two.
  const auto moved = std::llround(static_cast<double>(*period) * jumps.block_bytes);
  const std::int64_t bytes = moved & -moved;
  Attribute attribute = measured_exactly(runner.conditions(), bytes, "B", "period_of_jumps");
  if (keep_samples) {
    SampleTable table =
        make_table("alignments", Plot::kPoints,
                   {axis("offset_bytes", "block offset", "B"), values("cycles_per_pass", "cycles per pass")});
    for (std::uint32_t alignment = 0; alignment < kAlignments; ++alignment) {
      table.data[0].push_back(alignment * jumps.block_bytes / (kAlignments + 1));
    }
    table.data[1] = jumps.cycles;
    attribute.samples.push_back(std::move(table));
  }
  return attribute;
}

}  // namespace gputopo::probe
