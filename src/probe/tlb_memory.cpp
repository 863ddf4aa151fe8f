// What a load from device memory takes whose translation misses a level of TLB and all before it (Mei et al. 2014,
// Table 3): where the data come from memory, page tables may do so too, and a miss costs more than before a cache.
#include <algorithm>
#include <cmath>

#include "probe/tlb.h"

namespace gputopo::probe {

std::optional<double> memory_cycles_after_tlb_misses(Lab& lab, const Site& site, const TlbSurvey& survey,
                                                     std::size_t depth, double timer_cycles) {
  const TlbLevel& level = tlb_level(survey, depth);
  // Where it is not known what an entry covers, pages of the level before, from one half of twice the reach and from
  // the other in turns: neighbours may be of one entry.
  const bool knows_entry = level.entry_bytes > 0;
  std::uint64_t entry_bytes = level.entry_bytes;
  if (!knows_entry) entry_bytes = nearer_tlb_level(survey, depth).entry_bytes;
  if (entry_bytes == 0) return std::nullopt;
  const auto entry = static_cast<double>(entry_bytes);
  const double entries = level.last_fit_bytes / entry;
  const std::uint64_t evictor_bytes = lab.last_cache_bytes() > 0 ? lab.last_cache_evictor_bytes() : 0;
  // All of them in the next level, also when what evicts the data from the caches has been there.
  constexpr double kFits = 0.9;
  double most_bytes = static_cast<double>(survey.largest_bytes);
  if (depth + 1 < survey.levels.size()) {
    most_bytes = kFits * survey.levels[depth + 1].last_fit_bytes - static_cast<double>(evictor_bytes);
  }
  constexpr double kAllMiss = 2;
  constexpr double kLeast = 1.25;
  const double wanted = std::min(std::ceil(kAllMiss * entries), std::floor(most_bytes / entry));
  if (wanted < kLeast * entries) return std::nullopt;
  const auto pages = static_cast<std::uint64_t>(wanted);
  if (pages > survey.most_pages) return std::nullopt;
  ChaseArray array = pages_apart(lab, site, pages, entry_bytes, nearer_tlb_level(survey, depth));
  if (!knows_entry) {
    for (std::uint32_t page = 0; page < pages; ++page) {
      array.elements.push_back(page / 2 + (page % 2 == 0 ? 0 : static_cast<std::uint32_t>((pages + 1) / 2)));
    }
    array.order = Order::kSequential;
  }
  ChaseProgram program = make_program(site, {array}, {{.kind = StepKind::kWarm, .loads = 2 * pages}});
  if (evictor_bytes > 0) {
    constexpr std::uint64_t kLine = 128;
    program.arrays.push_back(make_array(site, evictor_bytes, kLine));
  }
  constexpr std::uint64_t kLoads = 512;
  const std::uint64_t rounds = std::clamp<std::uint64_t>(kLoads / pages, 1, 16);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (evictor_bytes > 0) program.steps.push_back(warm_step(site, program.arrays[1], 1));
    program.steps.push_back({.kind = StepKind::kCounted, .loads = pages});
  }
  stats::Histogram latencies;
  const std::vector<ChaseResult> results = lab.chase({program});
  for (const StepResult& step : results.front().steps) stats::accumulate(latencies, step.histogram);
  constexpr double kKept = 0.99;  // without outliers
  const double high = stats::histogram_quantile(latencies, kKept) + kHistogramBinCycles;
  return stats::summarise_band(latencies, 0, high).mean - timer_cycles;
}

}  // namespace gputopo::probe
