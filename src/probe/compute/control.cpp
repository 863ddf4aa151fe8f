// Barriers: a sequence of them in a block with more and more warps, in a cluster with more and more blocks, and in a
// block on every SM. Jumps: a sequence of branches that all lanes take, or of calls. Sides: the lanes of a warp
// diverge to more and more sides, each with a chain of the same operations. A further side costs the branch and the
// reconvergence beyond its operations, or less than its operations if sides run while others wait for results.
//
// What fools it: a compiler that predicates branches (a side is too long for that, and the code size reveals it);
// sides that reconverge only at the end (a warp barrier after each round prevents it).
#include "probe/compute/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "probe/bench/evidence.h"
#include "probe/bench/intervals.h"
#include "probe/compute/operation_trials.h"
#include "probe/compute/sm_resources_decision.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kFewControlRounds = 2;
constexpr std::uint32_t kManyControlRounds = 10;
constexpr std::uint32_t kControlCopies = 3;

// Most cycles that the loop adds to a round.
constexpr double kLoopCycles = 24;

// The rounds of one program.
struct Rounds {
  std::vector<double> cycles;  // of a round, for each copy: of the slowest block
  std::vector<double> sms;     // where the blocks of the first copy ran
};

std::vector<Rounds> rounds_of(ProbeRunner& runner, const std::vector<OperationProgram>& programs) {
  std::vector<OperationProgram> all;
  for (const OperationProgram& program : programs) {
    for (const std::uint32_t rounds : {kFewControlRounds, kManyControlRounds}) {
      all.insert(all.end(), kControlCopies, program);
      for (std::size_t i = all.size() - kControlCopies; i < all.size(); ++i) all[i].rounds = rounds;
    }
  }
  const std::vector<OperationResult> results = runner.operation(all);
  std::vector<Rounds> rounds;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    Rounds& own = rounds.emplace_back();
    const std::size_t first = 2 * kControlCopies * i;
    if (!results[first].refusal.empty()) throw NotSupportedError(results[first].refusal);
    for (std::size_t copy = 0; copy < kControlCopies; ++copy) {
      const OperationResult& few = results[first + copy];
      const OperationResult& many = results[first + kControlCopies + copy];
      own.cycles.push_back((std::ranges::max(many.cycles) - std::ranges::max(few.cycles)) /
                           (kManyControlRounds - kFewControlRounds));
    }
    own.sms.assign(results[first].sms.begin(), results[first].sms.end());
  }
  return rounds;
}

// Cycles from one operation of a sequence to the next, over what varies between the programs.
struct LineOfOperations {
  std::vector<double> cycles_of_first;  // for each copy
  std::vector<double> sms_of_first;
  std::vector<double> cycles;  // of each program, rounded
};

// Clusters of more and more blocks, up to the largest of the device.
struct ClusterLine {
  std::vector<double> blocks;
  std::vector<double> cycles;
  std::optional<Attribute> of_two;
};

LineOfOperations line_of(ProbeRunner& runner, const std::vector<OperationProgram>& programs) {
  const double operations = operations_per_round(programs.front());
  LineOfOperations line;
  for (Rounds& rounds : rounds_of(runner, programs)) {
    line.cycles.push_back(rounded(stats::median(rounds.cycles) / operations));
    if (!line.cycles_of_first.empty()) continue;
    for (const double cycles : rounds.cycles) line.cycles_of_first.push_back(cycles / operations);
    line.sms_of_first = std::move(rounds.sms);
  }
  return line;
}

// The attribute of the first program of a sequence.
Attribute attribute_of(ProbeRunner& runner, const LineOfOperations& line, double operations, const char* method) {
  const double value = stats::median(line.cycles_of_first);
  if (value <= 0) throw Inconclusive("a longer sequence of operations took no longer than a shorter one");
  const auto [least, most] = std::ranges::minmax(line.cycles_of_first);
  return measured(
      runner.conditions(), rounded(value), "cycles",
      stats::Interval{std::min(rounded(value), least - kLoopCycles / operations), std::max(rounded(value), most)},
      method);
}

// A sequence of barriers in blocks of more and more warps.
Attribute barrier_by_warps(ProbeRunner& runner, OperationProgram program, const char* method) {
  std::vector<OperationProgram> programs;
  std::vector<double> warps;
  for (std::uint32_t count = 1; count <= most_operation_warps(runner.info()); count *= 2) {
    warps.push_back(count);
    program.warps = count;
    programs.push_back(program);
  }
  const LineOfOperations line = line_of(runner, programs);
  Attribute attribute = attribute_of(runner, line, operations_per_round(program), method);
  attribute.add_detail("warps_tried", warps);
  attribute.add_detail("cycles_by_warps", line.cycles);
  return attribute;
}

// Throws NotSupportedError if the device has no clusters of two blocks.
ClusterLine by_cluster_size(ProbeRunner& runner, OperationId operation) {
  ClusterLine found;
  OperationProgram program{.operation = operation};
  for (std::uint32_t size = 2; size <= kMaxClusterBlocks; size *= 2) {
    program.cluster_size = size;
    try {
      const LineOfOperations line = line_of(runner, {program});
      if (!found.of_two) {
        found.of_two = attribute_of(runner, line, operations_per_round(program), "barriers_in_a_row");
        found.of_two->add_detail("sms", line.sms_of_first);
      }
      found.blocks.push_back(size);
      found.cycles.push_back(line.cycles.front());
    } catch (const NotSupportedError&) {
      if (!found.of_two) throw;
      break;
    }
  }
  return found;
}

}  // namespace

Attribute measure_barrier(ProbeRunner& runner) {
  return barrier_by_warps(runner, {.operation = OperationId::kBarSync}, "barriers_in_a_row");
}

Attribute measure_grid_barrier(ProbeRunner& runner) {
  Attribute attribute =
      barrier_by_warps(runner, {.operation = OperationId::kBarrierGrid, .every_sm = true}, "barriers_in_a_row");
  attribute.add_detail("blocks", static_cast<double>(runner.info().sm_count));
  return attribute;
}

Attribute measure_cluster_barrier(ProbeRunner& runner) {
  ClusterLine line = by_cluster_size(runner, OperationId::kBarrierCluster);
  Attribute attribute = std::move(*line.of_two);
  attribute.add_detail("blocks_tried", line.blocks);
  attribute.add_detail("cycles_by_blocks", line.cycles);
  // This barrier makes the blocks' writes visible to one another; the relaxed one, for comparison, does not.
  attribute.add_detail("relaxed_cycles_by_blocks", by_cluster_size(runner, OperationId::kBarrierClusterRelaxed).cycles);
  return attribute;
}

Attribute measure_jump(ProbeRunner& runner, OperationId operation) {
  const OperationProgram program{.operation = operation};
  return attribute_of(runner, line_of(runner, {program}), operations_per_round(program), "jumps_in_a_row");
}

DivergenceFinding measure_divergence(ProbeRunner& runner) {
  constexpr OperationId kOperation = OperationId::kFmaF32;
  std::vector<OperationProgram> programs = {{.operation = kOperation}};
  std::vector<DivergenceSample> samples;
  for (std::uint32_t sides = 2; sides <= runner.info().warp_size && sides <= kMaxOperationSides; sides *= 2) {
    programs.push_back({.operation = kOperation, .sides = sides});
    samples.push_back({static_cast<double>(sides), 0});
  }
  const std::vector<Rounds> rounds = rounds_of(runner, programs);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].cycles = stats::median(rounds[i + 1].cycles);
  const double of_operation = stats::median(rounds.front().cycles) / operations_per_round(programs.front());
  const double alone = of_operation * operations_per_round(programs.back());
  const Decision<DivergenceCost> cost = decide_divergence(samples, alone);
  if (!cost.value) throw Inconclusive(cost.why_not);
  DivergenceFinding finding{
      measured(runner.conditions(), rounded_to_tenth(cost.value->cycles), "cycles",
               stats::Interval{std::min(rounded_to_tenth(cost.value->cycles), cost.value->interval.low),
                               std::max(rounded_to_tenth(cost.value->cycles), cost.value->interval.high)},
               "divergent_paths"),
      measured(runner.conditions(), cost.value->interleave, "", std::nullopt, "divergent_paths")};
  std::vector<double> sides;
  std::vector<double> cycles;
  for (const DivergenceSample& sample : samples) {
    sides.push_back(sample.sides);
    cycles.push_back(rounded(sample.cycles));
  }
  finding.cost.add_detail("paths_tried", sides);
  finding.cost.add_detail("cycles_by_paths", cycles);
  finding.cost.add_detail("cycles_per_path", rounded(alone));
  return finding;
}

}  // namespace gputopo::probe
