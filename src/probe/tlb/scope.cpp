// Which SMs share a TLB: SM 0 loads from pages that fit, another SM from as many other pages, then SM 0 again.
// Together the pages do not fit, so that those of SM 0 are evicted from a TLB that both SMs share.
#include "probe/tlb/scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/bench/paired_histogram.h"
#include "probe/bench/sm_scope.h"
#include "probe/bench/value_or_throw.h"
#include "probe/tlb/level_values.h"
#include "probe/tlb/scope_decision.h"
#include "probe/tlb/walk.h"

namespace gputopo::probe {
namespace {

struct TlbScopeParameters {
  // Part of the reach for each of the two. Larger values evict more of SM 0's pages, or do not fit by themselves.
  double reach_part = 0.6;
  // Median of these rounds if one or two are not clear for all SMs: an outlier among few loads would look like misses.
  std::size_t rounds = 5;
  // SMs that are tried in one program.
  std::uint32_t others_at_once = 16;
};

// Steps of a round: SM 0 fills its pages, the evictor loads its own, SM 0 loads again.
constexpr std::size_t kStepsOfRound = 3;

// SM 0 against nobody, against itself, then against the SMs from `first` on.
ChaseProgram program_against(const Site& site, const ChaseArray& array, std::uint32_t first, std::uint32_t end,
                             const TlbScopeParameters& parameters) {
  const std::uint64_t pages = array.chain_length();
  ChaseProgram program = make_program(site, {array, array}, {});
  program.exclusive = true;
  program.actors = {{.sm = 0}};
  const auto add_rounds = [&](std::uint32_t evictor, std::uint32_t evictors_array) {
    for (std::size_t round = 0; round < parameters.rounds; ++round) {
      program.steps.push_back({.kind = StepKind::kWarm, .loads = 2 * pages});
      program.steps.push_back({.kind = StepKind::kWarm, .actor = evictor, .array = evictors_array, .loads = 2 * pages});
      program.steps.push_back({.kind = StepKind::kPaired, .loads = pages});
    }
  };
  add_rounds(0, 0);
  add_rounds(0, 1);
  for (std::uint32_t sm = first; sm < end; ++sm) {
    program.actors.push_back({.sm = sm});
    add_rounds(static_cast<std::uint32_t>(program.actors.size() - 1), 1);
  }
  return program;
}

TlbEviction read_eviction(const ChaseProgram& program, const ChaseResult& result, double max_cycles,
                          const TlbScopeParameters& parameters) {
  const auto added_cycles = [&](std::size_t evictor) {
    std::vector<double> means;
    for (std::size_t round = 0; round < parameters.rounds; ++round) {
      const std::size_t look = kStepsOfRound * (evictor * parameters.rounds + round + 1) - 1;
      means.push_back(added_by_translation(result.steps[look].histogram, max_cycles));
    }
    return stats::median(means);
  };
  TlbEviction eviction{.alone_cycles = added_cycles(0), .after_itself_cycles = added_cycles(1)};
  for (std::size_t actor = 1; actor < program.actors.size(); ++actor) {
    eviction.after_sms_cycles.emplace_back(*program.actors[actor].sm, added_cycles(actor + 1));
  }
  return eviction;
}

struct TlbMiss {
  double most_cycles = 0;  // the most that translation may add to a load
  double cycles = 0;       // cost of a miss of the level
};

// The part of SM 0's pages that each other SM evicts.
Decision<std::vector<EvictedPart>> evicted_by(ProbeRunner& runner, const Site& site, const ChaseArray& array,
                                              const TlbMiss& miss, const TlbScopeParameters& parameters) {
  const std::uint32_t sms = runner.info().sm_count;
  std::vector<ChaseProgram> programs;
  for (std::uint32_t first = 1; first < sms; first += parameters.others_at_once) {
    const std::uint32_t end = std::min(first + parameters.others_at_once, sms);
    programs.push_back(program_against(site, array, first, end, parameters));
  }
  const std::vector<ChaseResult> results = runner.chase(programs);
  std::vector<EvictedPart> parts;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const TlbEviction eviction = read_eviction(programs[i], results[i], miss.most_cycles, parameters);
    const auto found = evicted_parts(eviction, miss.cycles);
    if (!found) {
      return {{},
              {},
              fmt::format("on one SM, loads beyond the reach of this level take only {:.1f} cycles longer, too little "
                          "to detect evictions by other SMs",
                          eviction.after_itself_cycles - eviction.alone_cycles)};
    }
    parts.insert(parts.end(), found->begin(), found->end());
  }
  return {std::move(parts), {}, {}};
}

}  // namespace

Attribute tlb_scope(ProbeRunner& runner, const Site& site, const TlbSurvey& survey, std::size_t depth) {
  const TlbScopeParameters parameters;
  const TlbLevel& level = tlb_level(survey, depth);
  const std::uint32_t sms = runner.info().sm_count;
  if (sms < 2) throw NotSupportedError("this measurement needs at least two SMs");
  if (level.entry_bytes == 0)
    throw Inconclusive(
        "it is unknown how many bytes an entry covers, so gputopo cannot fill the entries of this level");
  const auto pages = static_cast<std::uint64_t>(
      std::ceil(parameters.reach_part * level.last_fit_bytes / static_cast<double>(level.entry_bytes)));
  if (2 * pages * level.entry_bytes > survey.largest_bytes) {
    throw Inconclusive("two working sets that together exceed the reach of this level need more memory than is free");
  }
  const ChaseArray array = pages_apart(runner, site, pages, level.entry_bytes, nearer_tlb(survey, depth),
                                       {.spreads_lines = survey.spreads_lines});
  std::vector<double> miss_cycles;
  for (std::size_t nearer = 0; nearer <= depth; ++nearer) miss_cycles.push_back(survey.levels[nearer].miss_cycles);
  const auto evicted_in = [&](std::size_t rounds) {
    TlbScopeParameters of_rounds = parameters;
    of_rounds.rounds = rounds;
    return evicted_by(runner, site, array, {max_added_cycles(miss_cycles), level.miss_cycles}, of_rounds);
  };
  return scope_of_sm(runner, 0, value_or_throw(runner, "", look_until_clear(evicted_in, parameters.rounds)));
}

}  // namespace gputopo::probe
