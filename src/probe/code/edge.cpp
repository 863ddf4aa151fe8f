#include "probe/code/edge.h"

#include <fmt/format.h>

#include "probe/bench/value_or_throw.h"
#include "probe/code/edge_decision.h"
#include "probe/code/survey.h"
#include "probe/code/trial.h"

namespace gputopo::probe {
namespace {

constexpr CodeEdgeParameters kCodeEdgeParameters;

// Misses, in instructions, of code that grows by a step of the lead.
std::vector<MissedLength> lengths_of_edge(ProbeRunner& runner, const CodeCache& cache) {
  const std::uint32_t fits = cache.fits_instructions;
  const std::uint32_t begin = fits < kCodeEdgeParameters.fits_within ? 0 : fits - kCodeEdgeParameters.fits_within;
  std::vector<InstructionProgram> programs;
  std::vector<std::uint32_t> instructions;
  for (std::uint32_t step = 1; begin + step * kCodeLeadStep <= fits + kCodeEdgeParameters.max_edge; ++step) {
    const std::uint32_t lead = (step - 1) % kCodeLeads + 1;
    const std::uint32_t count = begin + (step - lead) * kCodeLeadStep;
    if (count == 0) continue;
    programs.insert(programs.end(), kCodeCopies, repeated_run(count, lead * kCodeLeadStep));
    instructions.push_back(begin + step * kCodeLeadStep);
  }
  const std::vector<double> cycles = steady_medians(runner.code(programs));
  const double hit = cache.plateau().value;
  std::vector<MissedLength> lengths;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const double excess = cycles[i] - cache.survey->pass_cycles - hit * instructions[i];
    lengths.push_back({static_cast<double>(instructions[i]), excess / (cache.next().value - hit)});
  }
  return lengths;
}

}  // namespace

CodeEdge steep_edge(ProbeRunner& runner, const CodeCache& cache) {
  if (cache.fits_instructions + kCodeEdgeParameters.max_edge > kMaxCodeBehindLead) {
    throw NotSupportedError(
        fmt::format("this cache is too large: gputopo can measure how misses rise just beyond the capacity only in "
                    "caches of up to {:.0f} B",
                    (kMaxCodeBehindLead - kCodeEdgeParameters.max_edge) * cache.bytes_per_instruction()));
  }
  const CodeShape shape = value_or_throw(runner, "code",
                                         decide_code_shape(lengths_of_edge(runner, cache), cache.fits_instructions,
                                                           cache.bytes_per_instruction(), kCodeEdgeParameters));
  return {.line_bytes = static_cast<std::uint32_t>(shape.line * cache.bytes_per_instruction()),
          .ways = shape.ways,
          .conditions = runner.conditions()};
}

}  // namespace gputopo::probe
