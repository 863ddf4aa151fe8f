#include "probe/structure/eviction_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/structure/eviction_search.h"

namespace gputopo::probe {
namespace {

struct EvictionPoolParameters {
  // Lines to choose from, in capacities: they fill sets under any index. Larger values take longer.
  double capacities = 2;
  // Victims to choose from, because some may be out of reach.
  std::uint32_t victims = 64;
};

// Touches the pieces and loads the victim, in rounds. The first is not timed, because what it brings in evicts other
// lines than it will later. The victim's neighbor is loaded right before, so that the victim waits for no translation.
ChaseProgram rounds_program(const Site& site, const ChaseArray& array, std::uint32_t victim,
                            const std::vector<LinePiece>& pieces, std::size_t passes, std::size_t rounds) {
  const std::uint64_t neighbour = victim % 2 == 0 ? victim + 1 : victim - 1;
  ChaseProgram program = make_program(site, {array}, {});
  program.steps.push_back({.kind = StepKind::kWarm, .loads = 1, .first = victim});
  for (std::size_t round = 0; round <= rounds; ++round) {
    for (std::size_t pass = 0; pass < passes; ++pass) {
      for (const LinePiece& piece : pieces) {
        program.steps.push_back({.kind = StepKind::kTouch, .loads = piece.count, .first = piece.first});
      }
    }
    program.steps.push_back({.kind = StepKind::kWarm, .loads = 1, .first = neighbour});
    program.steps.push_back({.kind = round == 0 ? StepKind::kWarm : StepKind::kTimed, .loads = 1, .first = victim});
  }
  return program;
}

}  // namespace

EvictionPool make_eviction_pool(const Cache& cache, double lines) {
  const EvictionPoolParameters parameters;
  EvictionPool pool{.lines = static_cast<std::uint32_t>(parameters.capacities * lines) / 2 * 2,
                    .victims = parameters.victims};
  pool.array =
      make_array(cache.site(), (std::uint64_t{pool.lines} + pool.victims) * cache.line->bytes, cache.line->bytes);
  return pool;
}

std::optional<LineGroup> lines_evicting(ProbeRunner& runner, const Cache& cache, const EvictionPool& pool,
                                        std::uint32_t victim, std::uint64_t seed) {
  const std::uint32_t victim_line = pool.lines + victim;
  std::size_t programs = 0;
  const auto missed_rounds = [&](const std::vector<LinePiece>& pieces, std::size_t passes, std::size_t rounds) {
    ++programs;
    const ChaseProgram program = rounds_program(cache.site(), pool.array, victim_line, pieces, passes, rounds);
    const ChaseResult result = runner.chase({program}).front();
    return static_cast<std::size_t>(std::ranges::count_if(result.steps, [&](const StepResult& step) {
      return !step.latencies.empty() && step.latencies.front() >= cache.hit_limit_cycles();
    }));
  };
  auto found = search_evicting_lines(missed_rounds, pool.lines, seed);
  if (!found.value) {
    runner.log(fmt::format("structure: found no lines that evict line {} (after {} measurement programs): {}",
                           victim_line, programs, found.why_not));
    return std::nullopt;
  }
  runner.log(fmt::format("structure: {} lines evict line {} (found after {} measurement programs)", found.value->size(),
                         victim_line, programs));
  found.value->push_back(victim_line);
  return std::move(found.value);
}

}  // namespace gputopo::probe
