#include "probe/sharing/eviction.h"

namespace gputopo::probe {
namespace {

void add_evicting_steps(ChaseProgram& program, const EvictionTrial& trial) {
  const std::uint64_t lines = trial.evictor->element_count();
  const std::uint64_t at_a_time = trial.evictor_passes == 1 ? lines : kEviction.lines_at_a_time;
  for (std::uint64_t first = 0; first < lines; first += at_a_time) {
    for (std::uint32_t pass = 0; pass < trial.evictor_passes; ++pass) {
      program.steps.push_back({.kind = StepKind::kWarm,
                               .actor = 1,
                               .array = 1,
                               .loads = std::min(at_a_time, lines - first),
                               .first = first});
    }
  }
}

}  // namespace

std::uint32_t evictor_passes(const Cache& cache) {
  return cache.site().reaches_into_lines() ? 1 : kEvictorTouches.back();
}

ChaseArray victim_array(const Cache& cache) {
  return make_array(cache.site(), cache.fits_bytes / kEviction.victim_parts, cache.fetch_bytes);
}

ChaseArray evictor_array(const Cache& cache, std::uint32_t touches, std::uint64_t beside_bytes) {
  const auto bytes = static_cast<std::uint64_t>(kEviction.evictor_capacities * cache.held_bytes());
  const std::uint64_t limit = cache.site().limit_bytes;
  const std::uint64_t room = limit == 0 ? bytes : limit - beside_bytes;
  return make_array(cache.site(), std::min(bytes, room), cache.fetch_bytes / touches);
}

std::vector<double> surviving_fractions(ProbeRunner& runner, const Cache& victim,
                                        const std::vector<EvictionTrial>& trials, std::uint32_t copies) {
  std::vector<ChaseProgram> programs;
  for (const EvictionTrial& trial : trials) {
    const std::uint64_t n = trial.victim.element_count();
    ChaseProgram program = make_program(victim.site(), {trial.victim}, {{.kind = StepKind::kWarm, .loads = 2 * n}});
    if (trial.evictor) {
      program.arrays.push_back(*trial.evictor);
      program.actors.push_back({.warp = trial.evictor_warp, .lane = trial.evictor_warp == 0 ? 1u : 0u});
      add_evicting_steps(program, trial);
    }
    program.steps.push_back({.kind = StepKind::kCounted, .loads = std::min(n, runner.parameters().survey_loads)});
    programs.insert(programs.end(), copies, program);
  }
  const std::vector<ChaseResult> results = runner.chase(programs);
  std::vector<double> fractions;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto first = results.begin() + static_cast<std::ptrdiff_t>(i * copies);
    const std::size_t counted = first->steps.size() - 1;
    fractions.push_back(median_hit_fraction({first, first + copies}, counted, victim.hit_limit_cycles()));
  }
  return fractions;
}

std::vector<double> surviving_fractions(ProbeRunner& runner, const Cache& victim,
                                        const std::vector<EvictionTrial>& trials) {
  return surviving_fractions(runner, victim, trials, runner.parameters().copies);
}

}  // namespace gputopo::probe
