#include "probe/latency/latency.h"

#include <fmt/format.h>

#include "probe/latency/attribute.h"

namespace gputopo::probe {
namespace {

struct SharedLatencyParameters {
  std::uint64_t array_bytes = 2048;
};
constexpr SharedLatencyParameters kSharedParameters;

constexpr const char* kTimed = "timed_loads_in_band";

LatencyBand band_of(const Cache& cache) { return {cache.hit_floor_cycles(), cache.hit_limit_cycles()}; }

// A footprint that fits the level but no nearer one: that of the survey with the most loads in the band.
ChaseArray array_for(const Cache& cache, std::uint64_t least_bytes, Order second_order) {
  const Survey& survey = *cache.survey;
  const std::optional<std::size_t> place = footprint_for(survey.histograms, band_of(cache));
  const std::uint64_t footprint = place ? survey.footprints_bytes[*place] : 0;
  return make_array(cache.site(), std::max(footprint, least_bytes), survey.fetch_bytes, second_order);
}

struct SharedCacheParameters {
  // Loads that bring back the TLB entries of pages after the array in between evicted them.
  std::uint64_t translating_loads = 1024;
  // Divisor of the array that evicts the timed lines from nearer levels; the timed lines are at most this part of it.
  std::uint64_t timed_divisor = 8;
  // Part of the vendor's cache size for timed lines and the array in between; an SM may not reach the rest.
  double held_part = 0.8;
  // Capacities of a nearer cache of reported size that evict the timed lines from it.
  std::uint64_t nearer_capacities = 3;
  // Least part of the loads that must then miss the nearer levels.
  double least_part = 0.5;
};
constexpr SharedCacheParameters kSharedCache;

// A program with a step that counts loads of an array.
struct TimedProgram {
  ChaseProgram program;
  std::size_t timed_step = 0;
};

TimedProgram timed_alone(const ProbeRunner& runner, const Site& site, const ChaseArray& array) {
  return {make_program(site, {array},
                       {warm_step(site, array),
                        {.kind = StepKind::kCounted, .loads = runner.parameters().exclusive_loads, .chain = 1}}),
          1};
}

// Bytes that the last cache certainly holds, by the vendor's figure.
std::uint64_t held_bytes(const ProbeRunner& runner) {
  return static_cast<std::uint64_t>(kSharedCache.held_part * static_cast<double>(runner.last_cache_bytes()));
}

// For a level behind others that exceeds what TLBs translate at once: times lines that lie close together, after
// touching more of the cache, which evicts them from the nearer levels.
TimedProgram timed_after_nearer(const ProbeRunner& runner, const Site& site, const ChaseArray& all,
                                std::uint64_t bytes) {
  // The survey's footprints, whose loads waited for translations, may show the level behind too early.
  const bool is_l3 = runner.info().l3_bytes.has_value();
  const std::uint64_t nearer = is_l3 ? kSharedCache.nearer_capacities * runner.info().l2_bytes.value_or(0) : 0;
  const std::uint64_t touched = std::min(std::max(all.bytes, nearer), held_bytes(runner));
  const ChaseArray timed =
      make_array(site, std::min(bytes, touched / kSharedCache.timed_divisor), all.stride_bytes, Order::kShuffled);
  const ChaseArray between = make_array(site, touched - timed.bytes, all.stride_bytes);
  const std::uint64_t first = std::min(kSharedCache.translating_loads, timed.element_count() / 2);
  const std::uint64_t loads = std::min(runner.parameters().exclusive_loads, timed.element_count() - first);
  return {make_program(site, {timed, between},
                       {warm_step(site, timed),
                        warm_step(site, between, 1),
                        {.kind = StepKind::kWarm, .loads = first, .chain = 1},
                        {.kind = StepKind::kCounted, .loads = loads, .chain = 1, .first = first}}),
          3};
}

// From SMs at different distances from what they share.
std::vector<ChaseProgram> over_the_chip(const ProbeRunner& runner, ChaseProgram program) {
  std::vector<ChaseProgram> programs;
  for (std::uint32_t i = 0; i < runner.parameters().copies; ++i) {
    program.arrays[0].seed = runner.seed() + i;
    program.sm = i * runner.info().sm_count / runner.parameters().copies;
    programs.push_back(program);
  }
  return programs;
}

// Loads span half of what fits, and so many slices of what SMs share, or only as much as TLBs translate at once.
LevelLatency shared_level_latency(ProbeRunner& runner, const Cache& cache, std::uint64_t translated_bytes) {
  const Survey& survey = *cache.survey;
  LatencyBand band = band_of(cache);
  ChaseArray all = array_for(cache, cache.fits_bytes / 2, Order::kShuffled);
  // For a level behind another one, the survey's footprints are reliable only if its loads did not wait. The caches
  // that textures pass before it belong to the SM and are small.
  const bool behind_shared = cache.first_level > 0 && cache.site().space == Space::kGlobalBypassL1;
  const std::uint64_t wanted = behind_shared ? std::max(all.bytes, held_bytes(runner)) : all.bytes;
  const bool is_translated = translated_bytes == 0 || wanted <= translated_bytes;
  const bool is_behind = behind_shared && !is_translated;
  if (is_behind && !runner.info().l2_bytes) {
    throw Inconclusive("TLBs cover too little memory to reach this level, and the driver does not report the L2 size");
  }
  if (!is_translated && !is_behind)
    all = make_array(cache.site(), translated_bytes, all.stride_bytes, Order::kShuffled);
  const TimedProgram timed = is_behind ? timed_after_nearer(runner, cache.site(), all, translated_bytes)
                                       : timed_alone(runner, cache.site(), all);
  const std::vector<ChaseResult> copies = runner.chase(over_the_chip(runner, timed.program));
  // The survey's loads waited for translations, so these loads do not fall into its farther bands.
  if (is_behind) band = {survey.levels.front().high_cycles, survey.levels.back().low_cycles};
  const BandLatencies latencies =
      timed_band_latencies(copies, timed.timed_step, band.low_cycles, band.high_cycles, survey.timer_cycles);
  if (is_behind && part_between(latencies.histogram, band.low_cycles, band.high_cycles) < kSharedCache.least_part) {
    throw Inconclusive("this level does not serve most of the lines that the nearer levels evict");
  }
  LevelLatency latency = banded_latency(runner, latencies, band, survey.timer_cycles, kTimed);
  latency.waits_for_translations = translated_bytes == 0;
  return latency;
}

LevelLatency first_load_latency(const Cache& cache, const MeanLatency& near, const SmsByPartition& sides) {
  const std::vector<stats::Level>& levels = cache.survey->levels;
  const double gap = levels[cache.last_level].mode_cycles - levels[cache.first_level].mode_cycles;
  const std::optional<MeanLatency> mean = far_latency(near, sides.far_pairs, gap);
  if (!mean) throw Inconclusive("first loads of far lines are not clearly slower than hits in the near partition");
  return {.mean = *mean, .method = "first_loads_of_another_side", .conditions = sides.conditions};
}

LevelLatency farthest_level_latency(ProbeRunner& runner, const Cache& cache, std::uint64_t translated_bytes) {
  Cache far = cache;
  far.first_level = cache.last_level;
  far.fits_bytes = 0;
  return find_level_latency(runner, far, translated_bytes);
}

}  // namespace

LevelLatency nearest_latency(const Survey& survey) {
  return {.mean = mean_latency(survey.tiny_latencies_cycles),
          .timer_cycles = survey.timer_cycles,
          .method = "untimed_chain",
          .conditions = survey.tiny_conditions};
}

LevelLatency banded_latency(const ProbeRunner& runner, const BandLatencies& latencies, const LatencyBand& band,
                            double timer_cycles, std::string method) {
  if (!are_resolved(latencies.histogram, band)) {
    throw Inconclusive(fmt::format("loads take {} cycles or longer, which is beyond the range of the latency histogram",
                                   (kHistogramBins - 1) * kHistogramBinCycles));
  }
  return {.mean = mean_latency(latencies.means_cycles),
          .distribution = distribution_of(latencies.histogram, band, timer_cycles),
          .histogram = latencies.histogram,
          .timer_cycles = timer_cycles,
          .method = std::move(method),
          .conditions = runner.conditions()};
}

LevelLatency find_level_latency(ProbeRunner& runner, const Cache& cache, std::uint64_t translated_bytes) {
  const Survey& survey = *cache.survey;
  const LatencyBand band = band_of(cache);
  if (cache.site().exclusive) return shared_level_latency(runner, cache, translated_bytes);
  if (cache.first_level == 0) {
    LevelLatency latency = nearest_latency(survey);
    latency.distribution = distribution_of(survey.histograms.front(), {0, band.high_cycles}, survey.timer_cycles);
    return latency;
  }
  const BandLatencies latencies =
      band_latencies(runner, survey, array_for(cache, 0, Order::kReversed), band.low_cycles, band.high_cycles);
  return banded_latency(runner, latencies, band, survey.timer_cycles, latencies.untimed ? "untimed_chain" : kTimed);
}

CacheLatency find_latency(ProbeRunner& runner, const Cache& cache, std::uint64_t translated_bytes) {
  return {.nearest = find_level_latency(runner, cache, translated_bytes)};
}

CacheLatency find_near_and_far_latency(ProbeRunner& runner, const Cache& cache, std::uint64_t translated_bytes,
                                       const SmsByPartition* sides) {
  const Cache near{.survey = cache.survey,
                   .first_level = cache.first_level,
                   .last_level = cache.first_level,
                   .fetch_bytes = cache.fetch_bytes,
                   .fits_bytes = find_cache(*cache.survey, cache.first_level).fits_bytes};
  CacheLatency latency{.nearest = find_level_latency(runner, near, translated_bytes), .has_parts = true};
  if (cache.last_level == cache.first_level) return latency;
  ProbeRunner of_far = runner.another();
  try {
    latency.far = sides != nullptr ? first_load_latency(cache, latency.nearest.mean, *sides)
                                   : farthest_level_latency(of_far, cache, translated_bytes);
  } catch (const Inconclusive& error) {
    runner.log(fmt::format("far latency: {}", error.what()));
  }
  return latency;
}

Attribute measure_latency(ProbeRunner& runner, const Cache& cache, std::uint64_t translated_bytes) {
  return to_attribute(*cache.survey, find_latency(runner, cache, translated_bytes), runner.keep_samples());
}

Attribute measure_far_latency(ProbeRunner& runner, const Cache& l2, std::uint64_t translated_bytes,
                              const SmsByPartition* sides) {
  return to_attribute(*l2.survey, find_near_and_far_latency(runner, l2, translated_bytes, sides),
                      runner.keep_samples());
}

Attribute measure_shared_latency(ProbeRunner& runner, const Site& site) {
  const ChaseArray array = make_array(site, kSharedParameters.array_bytes, kMinimumStrideBytes);
  std::vector<ChaseStep> steps = {{.kind = StepKind::kWarm, .loads = array.element_count()}};
  add_untimed_chain(steps, array);
  const ChaseProgram program = make_program(site, {array}, steps);
  std::vector<double> means_cycles;
  for (const ChaseResult& copy : runner.chase(std::vector<ChaseProgram>(runner.parameters().copies, program))) {
    means_cycles.push_back(untimed_latency(copy, 1));
  }
  const LevelLatency latency{
      .mean = mean_latency(means_cycles), .method = "untimed_chain", .conditions = runner.conditions()};
  return to_attribute(latency, runner.keep_samples());
}

}  // namespace gputopo::probe
