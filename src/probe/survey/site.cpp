#include "probe/survey/site.h"

#include <fmt/format.h>

#include "probe/survey/sweep_decision.h"

namespace gputopo::probe {

ChaseArray make_array(const Site& site, std::uint64_t bytes, std::uint64_t stride_bytes, Order second_order,
                      std::uint64_t seed) {
  ChaseArray array;
  array.space = site.space;
  array.stride_bytes = site.reachable(stride_bytes);
  array.bytes = std::max(site.clamp(bytes) / array.stride_bytes, std::uint64_t{1}) * array.stride_bytes;
  array.second_order = second_order;
  array.seed = seed;
  return array;
}

ChaseProgram make_program(const Site& site, std::vector<ChaseArray> arrays, std::vector<ChaseStep> steps) {
  ChaseProgram program;
  program.arrays = std::move(arrays);
  program.actors = {ChaseActor{}};
  program.steps = std::move(steps);
  program.exclusive = site.exclusive;
  program.shared_carve_out_bytes = site.carve_out_bytes;
  return program;
}

ChaseStep warm_step(const Site& site, const ChaseArray& array, std::uint32_t index) {
  return {.kind = site.exclusive ? StepKind::kTouch : StepKind::kWarm, .array = index, .loads = array.element_count()};
}

void add_timed_steps(ChaseProgram& program, std::uint64_t begin, std::uint64_t end) {
  // The latencies that a step keeps occupy shared memory, which reduces L1, and the smallest carve-out must hold them.
  // Exclusive programs examine caches behind L1, so they may keep more.
  constexpr std::uint32_t kKept = 512;
  constexpr std::uint32_t kKeptAlone = 4096;
  program.timed_cap = program.exclusive ? kKeptAlone : kKept;
  for (std::uint64_t first = begin; first < end; first += program.timed_cap) {
    const std::uint64_t loads = std::min<std::uint64_t>(program.timed_cap, end - first);
    program.steps.push_back({.kind = StepKind::kTimed, .loads = loads, .chain = 1, .first = first});
  }
}

Order counted_order(const Survey& survey) { return survey.counts_in_places ? Order::kReversed : Order::kShuffled; }

void add_counted_steps(ChaseProgram& program, const Survey& survey, std::uint64_t loads) {
  if (!survey.counts_in_places) {
    program.steps.push_back({.kind = StepKind::kCounted, .loads = loads, .chain = 1});
    return;
  }
  const ChaseArray& array = program.arrays.front();
  for (const CountedPlace& place : counted_places(array.chain_length(), loads, array.seed)) {
    program.steps.push_back({.kind = StepKind::kWarm, .loads = 1, .chain = 1, .first = place.first});
    program.steps.push_back({.kind = StepKind::kCounted, .loads = place.loads, .chain = 1, .first = place.first + 1});
  }
}

stats::Histogram counted_loads(const ChaseResult& result) {
  stats::Histogram sum;
  for (std::size_t i = 1; i < result.steps.size(); ++i) stats::accumulate(sum, result.steps[i].histogram);
  return sum;
}

void require_apart_from_memory(const Survey& survey) {
  if (survey.levels.size() != 1 || stats::total_count(survey.cold) == 0) return;
  const OneLevelParameters parameters;
  const double hit = stats::histogram_quantile(survey.tiny, parameters.slow_quantile);
  const double cold = stats::histogram_quantile(survey.cold, parameters.slow_quantile);
  if (is_memory_alone(hit, cold, parameters)) return;
  throw Inconclusive(
      fmt::format("first loads in the {} space take {:.0f} cycles and repeated loads take {:.0f}: too close to tell a "
                  "cache from memory",
                  to_string(survey.site.space), cold, hit));
}

bool may_hide_a_cache(const Survey& survey) {
  return survey.levels.size() > 1 && last_level_is_mixed(survey.histograms, survey.levels, survey.cold);
}

bool is_end_hidden(const Survey& survey) {
  return survey.unsure_level == std::size_t{0} && !survey.translation.added_cycles.empty();
}

Cache find_cache(const Survey& survey, std::size_t depth, std::optional<std::size_t> farthest) {
  require_apart_from_memory(survey);
  if (survey.levels.size() < 2 || depth >= survey.levels.size()) {
    throw NotPresent(fmt::format("loads in the {} space show only {} level{}, so there is no cache at level {}",
                                 to_string(survey.site.space), survey.levels.size(),
                                 survey.levels.size() == 1 ? "" : "s", depth + 1));
  }
  // Merged levels only need to be distinguishable from memory, so the last of them decides.
  const std::size_t last = farthest.value_or(depth);
  const bool translated = !survey.translation.added_cycles.empty();
  if (survey.unsure_level && last >= *survey.unsure_level && translated) {
    throw Inconclusive(
        fmt::format("beyond a footprint of {} B, loads that otherwise take about {:.0f} cycles also miss the TLB and "
                    "take as long as hits in the next level",
                    survey.translation.free_bytes, survey.levels[*survey.unsure_level].mode_cycles));
  }
  if (survey.unsure_level && depth >= *survey.unsure_level && !farthest) {
    throw Inconclusive(fmt::format("loads of about {:.0f} cycles hit two levels that are too close to tell apart",
                                   survey.levels[*survey.unsure_level].mode_cycles));
  }
  Cache cache;
  cache.survey = &survey;
  cache.first_level = depth;
  cache.last_level = last;
  cache.fetch_bytes = survey.fetch_bytes;
  return read_again(cache);
}

std::size_t levels_within(const Survey& survey, std::uint64_t bytes) {
  // Factor by which a level must exceed the bytes to hold them clearly. Smaller values miss early set overflows.
  constexpr double kClearly = 1.25;
  for (std::size_t level = 0; level + 1 < survey.levels.size(); ++level) {
    const Cache part =
        read_again({.survey = &survey, .first_level = level, .last_level = level, .fetch_bytes = survey.fetch_bytes});
    if (part.held_bytes() >= kClearly * static_cast<double>(bytes))
      return level + 2;  // and memory, which serves the first touches
  }
  return survey.levels.size();
}

Cache read_again(Cache cache) {
  const Survey& survey = *cache.survey;
  // The first footprints are small enough for caches that SMs share, but exceed some caches of a single SM.
  const bool may_be_tiny = cache.first_level == 0 && !survey.site.exclusive;
  const SweepReading reading =
      read_sweep(survey.footprints_bytes, survey.histograms, survey.tiny,
                 {cache.hit_floor_cycles(), cache.hit_limit_cycles(), cache.misses_at_most(),
                  survey.levels[cache.last_level].misjudged, may_be_tiny ? survey.tiny_bytes : 0});
  cache.fits_bytes = reading.fits_bytes;
  cache.resident_bytes = reading.resident_bytes;
  if (!cache.nearer_is_known) cache.nearer_bytes = std::max(cache.nearer_bytes, reading.nearer_bytes);
  cache.noise = reading.noise;
  return cache;
}

Cache with(Cache cache, const Fetch& fetch) {
  cache.fetch_bytes = fetch.bytes;
  return read_again(std::move(cache));
}

Cache with(Cache cache, const Line& line) {
  cache.line = line;
  return cache;
}

void require_exceeded(const Cache& cache, const std::string& consequence) {
  if (cache.was_exceeded()) return;
  const std::uint64_t limit = cache.site().limit_bytes;
  if (limit != 0) {
    throw NotSupportedError(fmt::format("arrays in the {} space hold at most {} B and fit in this cache completely, {}",
                                        to_string(cache.site().space), limit, consequence));
  }
  throw Inconclusive(fmt::format("every footprint up to {} B fits in this cache, {}", cache.fits_bytes, consequence));
}

double hit_fraction(const StepResult& step, double limit_cycles) {
  return stats::fraction_below(step.histogram, limit_cycles);
}

double median_hit_fraction(const std::vector<ChaseResult>& copies, std::size_t step, double limit_cycles) {
  std::vector<double> fractions;
  fractions.reserve(copies.size());
  for (const ChaseResult& copy : copies) fractions.push_back(hit_fraction(copy.steps.at(step), limit_cycles));
  return stats::median(fractions);
}

}  // namespace gputopo::probe
