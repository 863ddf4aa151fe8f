// The latency of a load from device memory whose translation misses a TLB level and all before it (Mei et al. 2014,
// Table 3). If data come from memory, page tables may too, so that a miss costs more than before a cache.
#include "probe/tlb/memory.h"

#include <algorithm>

#include "probe/tlb/level_values.h"
#include "probe/tlb/memory_decision.h"
#include "probe/tlb/walk.h"

namespace gputopo::probe {
namespace {

struct TlbMemoryParameters {
  // Timed loads over all rounds. Larger values are steadier but take longer.
  std::uint64_t loads = 512;
  std::uint64_t max_rounds = 16;
  // Programs if lines are loaded only once. Larger values are steadier.
  std::uint32_t fresh_walks = 4;
  // Part of the loads that counts; the others are outliers.
  double kept_part = 0.99;
};

// Walks over pages that all miss the level; in between, other loads evict their data from the caches.
ChaseProgram cold_walks(const Site& site, const ChaseArray& pages, std::uint64_t evictor_bytes,
                        const TlbMemoryParameters& parameters) {
  const std::uint64_t count = pages.chain_length();
  ChaseProgram program = make_program(site, {pages}, {{.kind = StepKind::kWarm, .loads = 2 * count}});
  if (evictor_bytes > 0) program.arrays.push_back(make_array(site, evictor_bytes, PageChaseParameters{}.line_bytes));
  const std::uint64_t rounds = std::clamp<std::uint64_t>(parameters.loads / count, 1, parameters.max_rounds);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (evictor_bytes > 0) program.steps.push_back(warm_step(site, program.arrays[1], 1));
    program.steps.push_back({.kind = StepKind::kCounted, .loads = count});
  }
  return program;
}

// Loads the first halves of pages that all miss the level, for their translations, then times the second halves.
ChaseProgram fresh_walk(const Site& site, ChaseArray halves, std::uint64_t evictor_bytes) {
  const auto pages = static_cast<std::uint32_t>(halves.element_count() / 2);
  const std::vector<std::uint32_t> order = interleave_halves(pages);
  halves.elements.clear();
  for (const std::uint32_t page : order) halves.elements.push_back(2 * page);
  for (const std::uint32_t page : order) halves.elements.push_back(2 * page + 1);
  halves.order = Order::kSequential;
  ChaseProgram program = make_program(site, {std::move(halves)}, {{.kind = StepKind::kWarm, .loads = pages}});
  if (evictor_bytes > 0) {
    program.arrays.push_back(make_array(site, evictor_bytes, PageChaseParameters{}.line_bytes));
    program.steps.push_back(warm_step(site, program.arrays[1], 1));
  }
  program.steps.push_back({.kind = StepKind::kCounted, .loads = pages, .first = pages});
  return program;
}

}  // namespace

std::optional<double> memory_cycles_after_tlb_misses(ProbeRunner& runner, const Site& site, const TlbSurvey& survey,
                                                     std::size_t depth, double timer_cycles, CacheAvoidance way) {
  const TlbLevel& level = tlb_level(survey, depth);
  const NearerTlb nearer = nearer_tlb(survey, depth);
  // If the bytes of an entry are not known: pages of the level before, from both halves of twice the reach in turns.
  const bool knows_entry = level.entry_bytes > 0;
  const std::uint64_t page_bytes = knows_entry ? level.entry_bytes : nearer.entry_bytes;
  const std::uint64_t evictor_bytes =
      way != CacheAvoidance::kUncached && runner.last_cache_bytes() > 0 ? runner.last_cache_evictor_bytes() : 0;
  PagesPastTlbQuestion question{.reach_bytes = level.last_fit_bytes,
                                .page_bytes = page_bytes,
                                .beside_bytes = evictor_bytes,
                                .largest_bytes = survey.largest_bytes,
                                .max_pages = survey.most_pages};
  if (depth + 1 < survey.levels.size()) question.next_reach_bytes = survey.levels[depth + 1].last_fit_bytes;
  const std::optional<std::uint64_t> pages = pages_past_tlb(question);
  if (!pages) return std::nullopt;
  const TlbMemoryParameters parameters;
  std::vector<ChaseProgram> programs;
  if (way == CacheAvoidance::kFresh) {
    programs.assign(parameters.fresh_walks,
                    fresh_walk(site, pages_apart(runner, site, 2 * *pages, page_bytes / 2, {}), evictor_bytes));
  } else {
    ChaseArray array = pages_apart(runner, site, *pages, page_bytes, nearer);
    if (!knows_entry) {
      array.elements = interleave_halves(static_cast<std::uint32_t>(*pages));
      array.order = Order::kSequential;
    }
    programs = {cold_walks(site, array, evictor_bytes, parameters)};
  }
  stats::Histogram latencies;
  for (const ChaseResult& result : runner.chase(programs)) {
    for (const StepResult& step : result.steps) stats::accumulate(latencies, step.histogram);
  }
  const double high = stats::histogram_quantile(latencies, parameters.kept_part) + kHistogramBinCycles;
  return stats::summarise_band(latencies, 0, high).mean - timer_cycles;
}

}  // namespace gputopo::probe
