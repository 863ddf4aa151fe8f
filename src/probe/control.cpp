// Barriers: a line of them, of one block of more and more warps. Branches: the lanes of a warp part to more and more
// sides, each of which has a chain of the same operations; what a side more takes beyond its operations is what a
// branch and coming together again cost. Where sides run beside one another while they wait for results, it is less
// than them.
//
// What fools it: a compiler that makes predicates of branches (a side is too long for that, and the size of the code
// tells), sides that meet only at the end (they come together after each round, by a barrier of the warp).
#include "probe/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "probe/evidence.h"
#include "probe/intervals.h"
#include "probe/occupancy_decision.h"
#include "probe/operation.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kFewRounds = 2;
constexpr std::uint32_t kManyRounds = 10;
constexpr std::uint32_t kCopies = 3;

// Cycles of a round of each program, copy by copy.
std::vector<std::vector<double>> rounds_of(Lab& lab, const std::vector<OperationProgram>& programs) {
  std::vector<OperationProgram> all;
  for (const OperationProgram& program : programs) {
    for (const std::uint32_t rounds : {kFewRounds, kManyRounds}) {
      all.insert(all.end(), kCopies, program);
      for (std::size_t i = all.size() - kCopies; i < all.size(); ++i) all[i].rounds = rounds;
    }
  }
  const std::vector<OperationResult> results = lab.operation(all);
  std::vector<std::vector<double>> cycles;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    std::vector<double>& own = cycles.emplace_back();
    const std::size_t first = 2 * kCopies * i;
    if (!results[first].refusal.empty()) throw NotSupportedError(results[first].refusal);
    for (std::size_t copy = 0; copy < kCopies; ++copy) {
      own.push_back((results[first + kCopies + copy].cycles.front() - results[first + copy].cycles.front()) /
                    (kManyRounds - kFewRounds));
    }
  }
  return cycles;
}

}  // namespace

Attribute measure_barrier(Lab& lab) {
  std::vector<OperationProgram> programs;
  std::vector<double> warps;
  for (std::uint32_t count = 1; count <= most_operation_warps(lab.info()); count *= 2) {
    warps.push_back(count);
    programs.push_back({.operation = OperationId::kBarSync, .warps = count});
  }
  const double barriers = operations_per_round(programs.front());
  const std::vector<std::vector<double>> rounds = rounds_of(lab, programs);
  std::vector<double> of_one;
  for (const double cycles : rounds.front()) of_one.push_back(cycles / barriers);
  const double value = stats::median(of_one);
  if (value <= 0) throw Inconclusive("more barriers took no longer");
  const auto [least, most] = std::ranges::minmax(of_one);
  constexpr double kLoopCycles = 24;  // of a round, at most
  Attribute attribute = measured(
      lab.conditions(), rounded(value), "cycles",
      stats::Interval{std::min(rounded(value), least - kLoopCycles / barriers), std::max(rounded(value), most)},
      "barriers_in_a_row");
  std::vector<double> by_warps;
  for (const std::vector<double>& cycles : rounds) by_warps.push_back(rounded(stats::median(cycles) / barriers));
  attribute.add_detail("warps_tried", warps);
  attribute.add_detail("cycles_by_warps", by_warps);
  return attribute;
}

SidesFinding measure_sides(Lab& lab) {
  constexpr OperationId kOperation = OperationId::kFmaF32;
  std::vector<OperationProgram> programs = {{.operation = kOperation}};
  std::vector<SidesSample> samples;
  for (std::uint32_t sides = 2; sides <= lab.info().warp_size && sides <= kMaxOperationSides; sides *= 2) {
    programs.push_back({.operation = kOperation, .sides = sides});
    samples.push_back({static_cast<double>(sides), 0});
  }
  const std::vector<std::vector<double>> rounds = rounds_of(lab, programs);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].cycles = stats::median(rounds[i + 1]);
  const double of_operation = stats::median(rounds.front()) / operations_per_round(programs.front());
  const double alone = of_operation * operations_per_round(programs.back());
  const Decision<SidesCost> cost = decide_sides(samples, alone);
  if (!cost.value) throw Inconclusive(cost.why_not);
  SidesFinding finding{
      measured(lab.conditions(), rounded_to_tenth(cost.value->cycles), "cycles",
               stats::Interval{std::min(rounded_to_tenth(cost.value->cycles), cost.value->interval.low),
                               std::max(rounded_to_tenth(cost.value->cycles), cost.value->interval.high)},
               "sides_of_a_branch"),
      measured(lab.conditions(), cost.value->interleave, "", std::nullopt, "sides_of_a_branch")};
  std::vector<double> sides;
  std::vector<double> cycles;
  for (const SidesSample& sample : samples) {
    sides.push_back(sample.sides);
    cycles.push_back(rounded(sample.cycles));
  }
  finding.cost.add_detail("sides_tried", sides);
  finding.cost.add_detail("cycles_by_sides", cycles);
  finding.cost.add_detail("operations_of_a_side_cycles", rounded(alone));
  return finding;
}

}  // namespace gputopo::probe
