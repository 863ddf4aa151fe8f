// Which SMs share a TLB: SM 0 loads from pages that fit, another SM from as many other pages, and SM 0 again. Together
// they do not fit, so in a TLB of both SMs' those of SM 0 were driven out.
#include <fmt/format.h>

#include <cmath>

#include "probe/sharing_groups.h"
#include "probe/tlb.h"

namespace gputopo::probe {
namespace {

// Of a TLB's reach, for each of the two.
constexpr double kPart = 0.6;

// An outlier among a few loads would look like misses: the median of some rounds.
constexpr std::size_t kRounds = 5;

double added_cycles(const ChaseResult& result, std::size_t first_look, double most_cycles) {
  std::vector<double> means;
  for (std::size_t round = 0; round < kRounds; ++round) {
    means.push_back(added_by_translation(result.steps[first_look + 3 * round].histogram, most_cycles));
  }
  return stats::median(means);
}

}  // namespace

Attribute tlb_scope(Lab& lab, const Site& site, const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  const std::uint32_t sms = lab.info().sm_count;
  if (sms < 2) throw NotSupportedError("needs a second SM to evict from");
  if (level.entry_bytes == 0)
    throw Inconclusive("how much an entry covers is not known, so its entries are not filled");
  const auto pages =
      static_cast<std::uint64_t>(std::ceil(kPart * level.last_fit_bytes / static_cast<double>(level.entry_bytes)));
  if (2 * pages * level.entry_bytes > survey.largest_bytes) {
    throw Inconclusive("two working sets that together exceed its reach need more memory than is free");
  }
  const ChaseArray array = pages_apart(lab, site, pages, level.entry_bytes, nearer_tlb_level(survey, depth));
  // SM 0 against nobody, against itself, then against some of the others at a time.
  const auto add_rounds = [&](ChaseProgram& program, std::uint32_t evictor, std::uint32_t evictors_array) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      program.steps.push_back({.kind = StepKind::kWarm, .loads = 2 * pages});
      program.steps.push_back({.kind = StepKind::kWarm, .actor = evictor, .array = evictors_array, .loads = 2 * pages});
      program.steps.push_back({.kind = StepKind::kPaired, .loads = pages});
    }
  };
  constexpr std::uint32_t kOthersAtOnce = 16;
  std::vector<ChaseProgram> programs;
  for (std::uint32_t first = 1; first < sms; first += kOthersAtOnce) {
    ChaseProgram& program = programs.emplace_back(make_program(site, {array, array}, {}));
    program.exclusive = true;
    program.actors = {{.sm = 0}};
    add_rounds(program, 0, 0);
    add_rounds(program, 0, 1);
    for (std::uint32_t sm = first; sm < std::min(first + kOthersAtOnce, sms); ++sm) {
      program.actors.push_back({.sm = sm});
      add_rounds(program, static_cast<std::uint32_t>(program.actors.size() - 1), 1);
    }
  }
  const std::vector<ChaseResult> results = lab.chase(programs);
  double most_cycles = 16;  // noise, and twice what a load waits that misses this level and all before it
  for (std::size_t nearer = 0; nearer <= depth; ++nearer) most_cycles += 2 * survey.levels[nearer].miss_cycles;
  std::vector<EvictedPart> parts;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto cycles_against = [&](std::size_t which) {
      return added_cycles(results[i], which * 3 * kRounds + 2, most_cycles);
    };
    const double alone = cycles_against(0);
    const double added = cycles_against(1) - alone;
    constexpr double kLeastPart = 0.15;  // of a miss, on the average over the pages
    if (added < kLeastPart * level.miss_cycles) {
      throw Inconclusive(fmt::format("pages beyond its reach on one SM add only {:.1f} cycles to a load", added));
    }
    for (std::size_t actor = 1; actor < programs[i].actors.size(); ++actor) {
      parts.push_back({*programs[i].actors[actor].sm, (cycles_against(actor + 1) - alone) / added});
    }
  }
  return scope_of_sm(lab, 0, parts);
}

}  // namespace gputopo::probe
