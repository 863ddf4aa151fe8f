#include "probe/code/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "gputopo/program.h"
#include "probe/bench/intervals.h"
#include "probe/bench/value_or_throw.h"
#include "probe/code/trial.h"

namespace gputopo::probe {
namespace {

struct OperandSurveyParameters {
  // Larger values separate levels that are closer together, but take longer.
  double counts_per_octave = 12;
  // Largest count: a quarter of the constants, and code that the first instruction cache of most GPUs holds. There
  // must be twice as many near operands.
  std::uint32_t most_operands = 256;
  // Constants loaded in between, in capacities, at most. Larger values evict more under any replacement.
  double evictor = 3;
  std::uint32_t evictor_passes = 2;
  // Half a capacity that is loaded before, several times: if lines that hit twice outlast all that are loaded once, it
  // is to be among them. More passes evict more if only several hits make a line stay.
  double rehearsed = 0.5;
  std::uint32_t rehearsed_passes = 4;
};
constexpr OperandSurveyParameters kOperandSurvey;

// Adds the passes of these counts to the map, if it does not have them yet.
using PassesByCount = std::map<std::uint32_t, OperandPasses>;
void add_passes(ProbeRunner& runner, const std::vector<std::uint32_t>& counts, PassesByCount& passes) {
  std::vector<std::uint32_t> wanted;
  std::ranges::copy_if(counts, std::back_inserter(wanted),
                       [&](std::uint32_t count) { return !passes.contains(count); });
  std::vector<InstructionProgram> programs;
  for (const std::uint32_t count : wanted) {
    for (const CodeStepKind kind : {CodeStepKind::kApartOperands, CodeStepKind::kCloseOperands}) {
      programs.insert(programs.end(), kCodeCopies, repeated(kind, count));
    }
  }
  const std::vector<double> medians = steady_medians(runner.code(programs));
  for (std::size_t i = 0; i < wanted.size(); ++i) passes[wanted[i]] = {wanted[i], medians[2 * i], medians[2 * i + 1]};
}

// Throws Inconclusive if lines are shorter than the operands are apart.
void require_whole_lines(ProbeRunner& runner, const OperandCache& cache) {
  std::vector<InstructionProgram> programs;
  for (const CodeStepKind kind : {CodeStepKind::kNearOperands, CodeStepKind::kCloseOperands}) {
    programs.insert(programs.end(), kCodeCopies, repeated(kind, cache.fits * (kApartOperandBytes / kNearOperandBytes)));
  }
  const std::vector<double> cycles = steady_medians(runner.code(programs));
  static_cast<void>(value_or_throw(runner, "operands", decide_whole_lines(cycles[0], cycles[1], cache.added_cycles)));
}

// Throws Inconclusive if lines and ways are not known.
void require_order(const OperandCache& cache) {
  if (cache.line_bytes != 0) return;
  throw Inconclusive(
      "either no LRU or FIFO cache explains how misses grow near the capacity, or several such caches do");
}

OperandCurve curve_of(const PassesByCount& passes) {
  std::vector<OperandPasses> list;
  for (const auto& [count, pass] : passes) list.push_back(pass);
  return read_operand_curve(list);
}

}  // namespace

FoundOperandCache find_operand_cache(ProbeRunner& runner) {
  PassesByCount passes;
  add_passes(runner, counts_by_octave(2, kOperandSurvey.most_operands, kOperandSurvey.counts_per_octave), passes);
  FoundOperandCache found;
  const OperandEdge edge = value_or_throw(runner, "operands", find_operand_edge(curve_of(passes)));
  // Every count of the edge; with them, its end may be lower.
  std::vector<std::uint32_t> near(edge.first_that_all_miss - edge.last_that_fits + 1);
  std::iota(near.begin(), near.end(), edge.last_that_fits);
  add_passes(runner, near, passes);
  found.curve = curve_of(passes);
  static_cast<OperandCache&>(found) = value_or_throw(runner, "operands", decide_operand_cache(found.curve));
  require_whole_lines(runner, found);
  found.conditions = runner.conditions();
  return found;
}

Attribute operand_cache_size(const FoundOperandCache& cache, bool keep_samples) {
  Attribute attribute = measured(cache.conditions, cache.bytes, "B", cache.interval, "edge_of_operands");
  attribute.add_detail("cycles_per_operation", rounded(cache.hit_cycles));
  if (cache.line_bytes != 0) {
    attribute.add_detail("line_bytes", std::int64_t{cache.line_bytes});
    attribute.add_detail("own_lines", std::int64_t{cache.own_lines});
  }
  if (!keep_samples) return attribute;
  SampleTable table =
      make_table("operands", Plot::kLine, {footprint_axis(), values("cycles_per_operation", "cycles per operation")});
  table.data = {cache.curve.footprints_bytes, cache.curve.cycles_per_operation};
  attribute.samples.push_back(std::move(table));
  return attribute;
}

Attribute operand_miss_penalty(const FoundOperandCache& cache) {
  require_order(cache);
  return measured(cache.conditions, rounded(cache.added_cycles), "cycles", cache.added, "plateau_of_operands");
}

Attribute operand_ways(const FoundOperandCache& cache) {
  require_order(cache);
  return measured_exactly(cache.conditions, std::int64_t{cache.ways}, "", "misses_behind_edge");
}

Attribute measure_operand_sharing(ProbeRunner& runner, const FoundOperandCache& cache, const std::string& of_loads) {
  // Loads the upper half of the constants, because the operands lie in the lower half.
  const auto half = static_cast<std::uint32_t>(runner.info().constant_bytes.value_or(0) / 2) / kConstantStepBytes *
                    kConstantStepBytes;
  if (half < 4 * kConstantStepBytes)
    throw NotSupportedError("the driver does not report enough constant memory for this test");
  const std::uint32_t operands = std::clamp(cache.fits / 2, 1u, half / kApartOperandBytes);
  const auto loads = [&](double of_bytes, std::uint32_t passes) {
    const double wanted = std::clamp(of_bytes, 1.0 * kConstantStepBytes, static_cast<double>(half));
    const std::uint32_t bytes = static_cast<std::uint32_t>(wanted) / kConstantStepBytes * kConstantStepBytes;
    return CodeStep{.kind = CodeStepKind::kConstants, .first = half, .count = bytes, .passes = passes};
  };
  const CodeStep all = loads(std::max(kOperandSurvey.evictor * cache.interval.high, 4.0 * kConstantStepBytes),
                             kOperandSurvey.evictor_passes);
  const CodeStep rehearsed = loads(kOperandSurvey.rehearsed * cache.bytes, kOperandSurvey.rehearsed_passes);
  const CodeStep warm{.kind = CodeStepKind::kApartOperands, .count = operands, .passes = 2};
  const CodeStep again{.kind = CodeStepKind::kApartOperands, .count = operands, .passes = 1};
  std::vector<InstructionProgram> programs(kCodeCopies, {.actors = {{}}, .steps = {warm, again}});
  programs.insert(programs.end(), kCodeCopies, {.actors = {{}}, .steps = {warm, all, again}});
  const std::vector<double> cycles = steady_medians(runner.code(programs));
  const double all_miss = cycles[0] + operands * cache.added_cycles;
  bool evicts = value_or_throw(runner, "operands", decide_evicted(cycles[0], cycles[1], all_miss));
  if (!evicts) {
    programs.assign(kCodeCopies, {.actors = {{}}, .steps = {warm, rehearsed, all, again}});
    const double after = steady_medians(runner.code(programs)).front();
    evicts = value_or_throw(runner, "operands", decide_evicted(cycles[0], after, all_miss));
  }
  if (evicts && of_loads.empty()) {
    throw Inconclusive("constant loads evict operands, but no constant cache has the size of the operand cache");
  }
  const std::vector<std::string> partners(evicts ? 1 : 0, of_loads);
  return measured(runner.conditions(), partners, "", std::nullopt, "eviction_by_constant_loads");
}

}  // namespace gputopo::probe
