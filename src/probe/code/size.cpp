#include "probe/code/size.h"

#include <algorithm>
#include <cmath>

#include "probe/bench/intervals.h"
#include "probe/bench/last_that_fits.h"
#include "probe/bench/value_or_throw.h"
#include "probe/code/survey.h"
#include "probe/code/trial.h"
#include "probe/survey/site.h"

namespace gputopo::probe {
namespace {

// Pairs of lengths that are compared; odd, so that a median is a sample. Larger values are surer against neighbors.
constexpr int kEdgeCopies = 5;

SampleTable sweep_table(const CodeSurvey& survey) {
  SampleTable table =
      make_table("sweep", Plot::kLine, {footprint_axis(), values("cycles_per_instruction", "cycles per instruction")});
  table.data = {survey.footprints_bytes, survey.cycles_per_instruction};
  table.marks = {"first_miss_bytes", "all_miss_bytes"};
  return table;
}

// Shorter code of the same level, well before the edge.
std::uint32_t reference_instructions(const CodeCache& cache) {
  const stats::Plateau& level = cache.plateau();
  return cache.survey->instructions[(level.first + level.last) / 2];
}

// Alternates both lengths, so that drift of the clocks does not look like a difference.
CodeComparison compare_with_reference(ProbeRunner& runner, const CodeCache& cache, std::uint32_t count) {
  const std::uint32_t reference = reference_instructions(cache);
  std::vector<InstructionProgram> programs;
  for (int copy = 0; copy < kEdgeCopies; ++copy) {
    programs.push_back(repeated_run(reference));
    programs.push_back(repeated_run(count));
  }
  const std::vector<InstructionResult> results = runner.code(programs);
  const double pass_cycles = cache.survey->pass_cycles;
  CodeComparison code{.instructions = count, .gap_cycles = cache.next().value - cache.plateau().value};
  for (std::size_t i = 0; i < results.size(); i += 2) {
    code.fitting_cycles = (steady_cycles(results[i]) - pass_cycles) / reference;
    code.differences.push_back((steady_cycles(results[i + 1]) - pass_cycles) / count - code.fitting_cycles);
  }
  return code;
}

}  // namespace

CodeSize find_code_size(ProbeRunner& runner, const CodeCache& cache) {
  const CodeSurvey& survey = *cache.survey;
  const auto exceeds = [&](double part) {
    return [&runner, &cache, part](std::uint32_t blocks) {
      return takes_longer(compare_with_reference(runner, cache, blocks * kCodeBlockInstructions), part);
    };
  };
  constexpr CodeSizeParameters kDecision;
  const std::uint32_t beyond = survey.instructions[cache.next().first] / kCodeBlockInstructions;
  if (!exceeds(kDecision.edge_high)(beyond))
    throw Inconclusive("the sweep shows a next level, but repeated measurements do not");
  EdgeBlocks edge;
  edge.fits =
      last_that_fits(reference_instructions(cache) / kCodeBlockInstructions, beyond, exceeds(kDecision.exceeds));
  edge.low = last_that_fits(edge.fits, beyond, exceeds(kDecision.edge_low));
  edge.high = last_that_fits(edge.low, beyond, exceeds(kDecision.edge_high));
  edge.far = last_that_fits(edge.high, beyond, exceeds(kDecision.edge_far));
  const CodeCapacity capacity = value_or_throw(runner, "code", decide_code_capacity(edge));
  CodeSize size;
  size.bytes = capacity.blocks * survey.block_bytes;
  // Other code of every pass was in the cache too.
  size.interval = {std::floor(capacity.least_blocks * survey.block_bytes),
                   std::ceil(capacity.most_blocks * survey.block_bytes + survey.loop_bytes)};
  const double overlooked = overlooked_part({.instructions = edge.fits * kCodeBlockInstructions,
                                             .differences = {},
                                             .fitting_cycles = cache.plateau().value,
                                             .gap_cycles = cache.next().value - cache.plateau().value});
  size.surely_bytes = std::floor((1 - overlooked) * capacity.least_blocks * survey.block_bytes);
  size.fits_instructions = static_cast<std::uint32_t>(capacity.blocks) * kCodeBlockInstructions;
  size.first_miss_bytes = (capacity.least_blocks + 1) * survey.block_bytes;
  size.in_turn = capacity.in_turn;
  size.sharp = capacity.sharp;
  size.uneven_bytes = std::ceil((edge.far + 1) * survey.block_bytes + survey.loop_bytes);
  size.conditions = runner.conditions();
  return size;
}

Attribute to_attribute(const CodeSize& size, const CodeCache& cache, bool keep_samples) {
  const CodeSurvey& survey = *cache.survey;
  Attribute attribute = measured(size.conditions, std::round(size.bytes), "B", size.interval,
                                 size.sharp ? "longest_fitting_code" : "beginning_of_edge");
  attribute.add_detail("first_miss_bytes", static_cast<std::int64_t>(std::llround(size.first_miss_bytes)));
  attribute.add_detail("all_miss_bytes",
                       static_cast<std::int64_t>(std::llround(survey.footprints_bytes[cache.next().first])));
  attribute.add_detail("bytes_per_instruction", std::round(100 * cache.bytes_per_instruction()) / 100);
  attribute.add_detail("max_loop_bytes", static_cast<std::int64_t>(survey.loop_bytes));
  if (keep_samples) attribute.samples.push_back(sweep_table(survey));
  return attribute;
}

namespace {

// Whether the cache may serve some of code that exceeds it; under LRU it serves none.
bool may_still_serve(const CodeSize& size) {
  return !size.in_turn || size.uneven_bytes > CodeSizeParameters{}.slow_edge * size.bytes;
}

}  // namespace

Attribute code_rate(const CodeCache& cache, const CodeSize* size, const CodeSize* nearer, const LinesAtOnce& lines) {
  const CodeSurvey& survey = *cache.survey;
  const stats::Plateau& level = cache.plateau();
  const auto own = std::span(survey.cycles_per_instruction).subspan(level.first, level.last + 1 - level.first);
  double value = level.value;
  const double drift = IntervalParameters{}.clock_drift * value;
  stats::Interval interval{value - drift, value + drift};
  const auto of_pass = [&](std::size_t i) { return survey.pass_error_cycles / survey.instructions[level.first + i]; };
  for (std::size_t i = 0; i < own.size(); ++i) {
    interval.low = std::max(0.0, std::min(interval.low, own[i] - drift - of_pass(i)));
    interval.high = std::max(interval.high, own[i] + drift + of_pass(i));
  }
  if (cache.level > 0) {
    const double before_cycles = survey.levels[cache.level - 1].value;
    if (size == nullptr || may_still_serve(*size)) {
      const double behind = CodeSweepParameters{}.served_behind * (cache.next().value - value);
      interval.low = std::max(0.0, std::min(interval.low, value - drift - behind));
    }
    if (nearer != nullptr && may_still_serve(*nearer)) {
      const double part = nearer->bytes / survey.footprints_bytes[level.last];
      interval.high = (1 + CodeSweepParameters{}.served_unevenness) *
                      std::max(interval.high, rate_without(own.back() + of_pass(own.size() - 1), before_cycles, part));
    }
    value = rate_of_first_lines(value, before_cycles, lines.least);
    interval = {rate_of_first_lines(interval.low, before_cycles, lines.least),
                rate_of_first_lines(interval.high, before_cycles, lines.most)};
  }
  Attribute rate =
      measured(survey.conditions, std::round(1000 * value) / 1000, "cycles", interval, "plateau_of_code_sweep");
  rate.add_detail("bytes_per_cycle", std::round(100 * cache.bytes_per_instruction() / value) / 100);
  rate.add_detail("next_level_cycles_per_instruction", std::round(1000 * cache.next().value) / 1000);
  return rate;
}

}  // namespace gputopo::probe
