#include "probe/code/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "probe/bench/evidence.h"
#include "probe/code/edge.h"
#include "probe/code/line_decision.h"
#include "probe/code/survey.h"
#include "probe/code/trial.h"

namespace gputopo::probe {
namespace {

// Blocks by which code exceeds what fits: with and without the lead, in caches of few sets and of many, some sets
// overflow and some do not.
constexpr int kLengths[] = {-3, -2, -1, 0, 1, 2, 4, 6, 8};
constexpr std::uint32_t kMaxExtraBlocks = kLengths[std::size(kLengths) - 1];
// Blocks that are measured even if all of the code misses at fewer.
constexpr int kAlwaysBlocks = 1;

// Cycles of a pass over `count` instructions for each step of the lead.
std::vector<double> cycles_of_length(ProbeRunner& runner, std::uint32_t count) {
  std::vector<InstructionProgram> programs;
  for (std::uint32_t lead = 1; lead <= kCodeLeads; ++lead) {
    programs.insert(programs.end(), kCodeCopies, repeated_run(count, lead * kCodeLeadStep));
  }
  return steady_medians(runner.code(programs));
}

std::vector<std::vector<double>> cycles_of_lengths(ProbeRunner& runner, const CodeCache& cache) {
  const std::uint32_t all_miss = cache.survey->instructions[cache.next().first];
  std::vector<std::vector<double>> lengths;
  for (const int blocks : kLengths) {
    const std::int64_t count = cache.fits_instructions + std::int64_t{blocks} * kCodeBlockInstructions;
    if (count > 0 && (blocks <= kAlwaysBlocks || count <= all_miss)) {
      lengths.push_back(cycles_of_length(runner, static_cast<std::uint32_t>(count)));
    }
  }
  return lengths;
}

// Measures a short edge again: stairs of an odd number of sets may show only at every second one.
void require_edge_agrees(const CodeEdgeCallback& edge_of, std::int64_t line) {
  std::int64_t found = line;
  try {
    found = edge_of().line_bytes;
  } catch (const Inconclusive&) {
    return;  // no stairs there, or an edge that is too long
  } catch (const NotSupportedError&) {
    return;
  }
  if (found != line) {
    throw Inconclusive(
        fmt::format("the steps in pass time at several code lengths show lines of {} B, but the steps in misses just "
                    "beyond the capacity show lines of {} B",
                    line, found));
  }
}

}  // namespace

Attribute measure_code_line(ProbeRunner& runner, const CodeCache& cache, const CodeEdgeCallback& edge_of) {
  constexpr std::uint32_t kMaxBlocks = kMaxCodeBehindLead / kCodeBlockInstructions - kMaxExtraBlocks;
  if (cache.fits_instructions > kMaxBlocks * kCodeBlockInstructions) {
    throw NotSupportedError(fmt::format(
        "this cache is too large: gputopo can find the line size only in instruction caches of up to {:.0f} B",
        kMaxBlocks * cache.survey->block_bytes));
  }
  const auto line_of_steep_edge = [&] {
    const CodeEdge edge = edge_of();
    return measured_exactly(edge.conditions, edge.line_bytes, "B", "edge_staircase");
  };
  const double missing = missed_parts(runner, cache, {cache.fits_instructions + kCodeBlockInstructions}).front();
  if (missing > CodeLineParameters{}.max_missing) return line_of_steep_edge();
  constexpr std::size_t kBlockPeriod = kCodeBlockInstructions / kCodeLeadStep;
  const auto period = decide_staircase_period(cycles_of_lengths(runner, cache), kBlockPeriod);
  runner.log("code: " + period.basis);
  if (!period.value) return line_of_steep_edge();
  const std::size_t steps = period.value->steps;
  if (steps == kBlockPeriod && !cache.in_turn) {
    throw Inconclusive(
        "the steps in pass time are one block apart, and the tested code lengths differ by whole blocks, so the steps "
        "may belong to different sets");
  }
  const std::int64_t line = line_of_period(steps, kCodeLeadStep, cache.bytes_per_instruction());
  if (cache.level > 0 &&
      !is_own_staircase(period.value->height, static_cast<double>(steps) * kCodeLeadStep,
                        cache.survey->levels.front().value, cache.plateau().value, cache.next().value)) {
    throw Inconclusive(fmt::format(
        "the steps in pass time are {} B apart, but no higher than the steps that lines of nearer caches cause", line));
  }
  if (period.value->alternates) {
    throw Inconclusive(fmt::format(
        "the steps in pass time are {} B apart, but not equally high, so this distance may be one line or half a line",
        line));
  }
  if (missing > CodeLineParameters{}.short_edge) require_edge_agrees(edge_of, line);
  return measured_exactly(runner.conditions(), line, "B", "code_length_staircase");
}

}  // namespace gputopo::probe
