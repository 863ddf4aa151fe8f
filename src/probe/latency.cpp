#include "probe/latency.h"

namespace gputopo::probe {
namespace {

struct SharedLatencyParameters {
  std::uint64_t array_bytes = 2048;
  // Of the untimed chain. More: its two ends count for less.
  std::uint64_t loads = 4096;
};
constexpr SharedLatencyParameters kShared;

LatencyBand band_of(const Cache& cache) { return {cache.hit_floor_cycles(), cache.hit_limit_cycles()}; }

// A footprint that fits the level and not what is before it: the survey's with most loads in the band.
ChaseArray array_for(const Cache& cache, std::uint64_t least_bytes, Order second_order) {
  const Survey& survey = *cache.survey;
  const std::optional<std::size_t> place = footprint_for(survey.histograms, band_of(cache));
  const std::uint64_t footprint = place ? survey.footprints_bytes[*place] : 0;
  return make_array(cache.site(), std::max(footprint, least_bytes), survey.fetch_bytes, second_order);
}

// Over many slices of what SMs share, half of what fits, by SMs that differ in their distance to them.
std::vector<ChaseProgram> programs_over_the_chip(const Lab& lab, const Cache& cache) {
  const ChaseArray array = array_for(cache, cache.fits_bytes / 2, Order::kShuffled);
  ChaseProgram program =
      make_program(cache.site(), {array},
                   {warm_step(cache.site(), array),
                    {.kind = StepKind::kCounted, .loads = lab.parameters().exclusive_loads, .chain = 1}});
  std::vector<ChaseProgram> programs;
  for (std::uint32_t i = 0; i < lab.parameters().copies; ++i) {
    program.arrays[0].seed = lab.seed() + i;
    program.sm = i * lab.info().sm_count / lab.parameters().copies;
    programs.push_back(program);
  }
  return programs;
}

}  // namespace

LevelLatency nearest_latency(const Survey& survey) {
  return {.mean = mean_latency(survey.tiny_latencies_cycles),
          .timer_cycles = survey.timer_cycles,
          .method = "untimed_chain",
          .conditions = survey.tiny_conditions};
}

LevelLatency banded_latency(const Lab& lab, const BandLatencies& latencies, const LatencyBand& band,
                            double timer_cycles, std::string method) {
  return {.mean = mean_latency(latencies.means_cycles),
          .distribution = distribution_of(latencies.histogram, band, timer_cycles),
          .histogram = latencies.histogram,
          .timer_cycles = timer_cycles,
          .method = std::move(method),
          .conditions = lab.conditions()};
}

LevelLatency find_level_latency(Lab& lab, const Cache& cache) {
  const Survey& survey = *cache.survey;
  const LatencyBand band = band_of(cache);
  constexpr const char* kTimed = "timed_loads_in_band";
  if (cache.site().exclusive) {
    const std::vector<ChaseResult> copies = lab.chase(programs_over_the_chip(lab, cache));
    const BandLatencies latencies =
        timed_band_latencies(copies, 1, band.low_cycles, band.high_cycles, survey.timer_cycles);
    return banded_latency(lab, latencies, band, survey.timer_cycles, kTimed);
  }
  if (cache.first_level == 0) {
    LevelLatency latency = nearest_latency(survey);
    latency.distribution = distribution_of(survey.histograms.front(), {0, band.high_cycles}, survey.timer_cycles);
    return latency;
  }
  const BandLatencies latencies =
      band_latencies(lab, survey, array_for(cache, 0, Order::kReversed), band.low_cycles, band.high_cycles);
  return banded_latency(lab, latencies, band, survey.timer_cycles, latencies.untimed ? "untimed_chain" : kTimed);
}

CacheLatency find_latency(Lab& lab, const Cache& cache) { return {.nearest = find_level_latency(lab, cache)}; }

CacheLatency find_near_and_far_latency(Lab& lab, const Cache& cache) {
  const Cache near{.survey = cache.survey,
                   .first_level = cache.first_level,
                   .last_level = cache.first_level,
                   .fetch_bytes = cache.fetch_bytes,
                   .fits_bytes = find_cache(*cache.survey, cache.first_level, false).fits_bytes};
  CacheLatency latency{.nearest = find_level_latency(lab, near), .has_parts = true};
  if (cache.last_level > cache.first_level) {
    Cache far = cache;
    far.first_level = cache.last_level;
    far.fits_bytes = 0;
    Lab of_far = lab.another();
    latency.far = find_level_latency(of_far, far);
  }
  return latency;
}

Attribute measure_latency(Lab& lab, const Cache& cache) {
  return to_attribute(*cache.survey, find_latency(lab, cache), lab.keep_samples());
}

Attribute measure_far_latency(Lab& lab, const Cache& l2) {
  return to_attribute(*l2.survey, find_near_and_far_latency(lab, l2), lab.keep_samples());
}

Attribute measure_shared_latency(Lab& lab, const Site& site) {
  const ChaseArray array = make_array(site, kShared.array_bytes, kMinimumStrideBytes);
  const ChaseProgram program = make_program(
      site, {array},
      {{.kind = StepKind::kWarm, .loads = array.element_count()}, {.kind = StepKind::kWarm, .loads = kShared.loads}});
  std::vector<double> means_cycles;
  for (const ChaseResult& copy : lab.chase(std::vector<ChaseProgram>(lab.parameters().copies, program))) {
    means_cycles.push_back(static_cast<double>(copy.steps[1].total_cycles) / static_cast<double>(copy.steps[1].loads));
  }
  const LevelLatency latency{
      .mean = mean_latency(means_cycles), .method = "untimed_chain", .conditions = lab.conditions()};
  return to_attribute(latency, lab.keep_samples());
}

}  // namespace gputopo::probe
