// The survey of a space: tiny array, cold passes, then a sweep over footprints whose single loads are clustered into levels.
#include <fmt/format.h>

#include <cmath>

#include "probe/fetch_granularity.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kTinyTimedLoads = 1024;
constexpr std::uint64_t kTinyChainLoads = 4096;
constexpr std::uint64_t kColdLoads = 64;
constexpr std::uint64_t kColdPassBytes = 4096;
constexpr std::uint32_t kColdPasses = 3;

// Latency of loads that all hit: untimed, so exact; and timed, so that the timer's cost is the difference.
stats::Histogram run_tiny(Lab& lab, Survey& survey) {
  const ChaseArray array = make_array(survey.site, lab.parameters().tiny_bytes, kMinimumStrideBytes);
  const std::uint64_t n = array.element_count();
  const ChaseProgram program = make_program(survey.site, {array},
                                            {{.kind = StepKind::kWarm, .loads = 4 * n},
                                             {.kind = StepKind::kWarm, .loads = kTinyChainLoads},
                                             {.kind = StepKind::kTimed, .loads = kTinyTimedLoads}});
  stats::Histogram histogram;
  std::vector<double> timer_costs;
  for (const ChaseResult& copy : lab.chase(std::vector<ChaseProgram>(lab.parameters().copies, program))) {
    const StepResult& chain = copy.steps[1];
    const double latency = static_cast<double>(chain.total_cycles) / static_cast<double>(chain.loads);
    std::vector<double> timed(copy.steps[2].latencies.begin(), copy.steps[2].latencies.end());
    survey.tiny_latencies_cycles.push_back(latency);
    // A tenth off each end: outliers of the timed loads would end up in the timer's cost.
    constexpr double kTrim = 0.1;
    timer_costs.push_back(stats::trimmed_mean(timed, kTrim) - latency);
    stats::accumulate(histogram, copy.steps[2].histogram);
  }
  survey.timer_cycles = stats::median(timer_costs);
  return histogram;
}

// First touches: one load a line, and passes at the smallest stride for the fetch granularity.
ChaseResult run_cold(Lab& lab, const Site& site) {
  const Parameters& parameters = lab.parameters();
  const std::uint64_t spread = site.limit_bytes == 0 ? kColdLoads : std::min(kColdLoads, site.limit_bytes / 2 / parameters.cold_stride_bytes);
  std::vector<ChaseArray> arrays = {make_array(site, spread * parameters.cold_stride_bytes, parameters.cold_stride_bytes)};
  for (std::uint32_t i = 0; i < kColdPasses; ++i) arrays.push_back(make_array(site, kColdPassBytes, kMinimumStrideBytes));
  std::vector<ChaseStep> steps;
  for (std::uint32_t i = 0; i < arrays.size(); ++i) {
    steps.push_back({.kind = StepKind::kTimed, .array = i, .loads = arrays[i].element_count()});
  }
  if (site.exclusive) {
    arrays.push_back(make_array(site, lab.l2_evictor_bytes(), 32));
    steps.insert(steps.begin(), warm_step(site, arrays.back(), static_cast<std::uint32_t>(arrays.size() - 1)));
  }
  ChaseResult result = lab.chase({make_program(site, arrays, steps)}).front();
  if (site.exclusive) result.steps.erase(result.steps.begin());
  return result;
}

}  // namespace

void sweep_footprints(Lab& lab, Survey& survey) {
  const Site& site = survey.site;
  const Parameters& parameters = lab.parameters();
  const double nearest_limit = survey.levels.front().high_cycles;
  survey.footprints_bytes.clear();
  survey.histograms.clear();

  const auto run = [&](double from, double to, double per_octave, std::uint32_t copies) {
    std::vector<ChaseProgram> programs;
    std::vector<std::uint64_t> footprints;
    for (double bytes = from; bytes <= to * 1.001; bytes *= std::exp2(1 / per_octave)) {
      ChaseArray array = make_array(site, static_cast<std::uint64_t>(bytes), survey.fetch_bytes,
                                    site.exclusive ? Order::kShuffled : Order::kReversed);
      if (!footprints.empty() && footprints.back() == array.bytes) continue;
      footprints.push_back(array.bytes);
      const std::uint64_t n = array.element_count();
      const ChaseStep warm = warm_step(site, array);
      // Alone: a sample in shuffled order after a touch, because one thread could not walk it all. Otherwise the same order
      // again: under LRU replacement a footprint over the capacity then misses wherever a set overflows.
      const ChaseStep counted = site.exclusive
                                    ? ChaseStep{.kind = StepKind::kCounted, .loads = std::min(parameters.exclusive_loads, std::max(n / 8, std::uint64_t{64})), .chain = 1}
                                    : ChaseStep{.kind = StepKind::kCounted, .loads = std::min(parameters.survey_loads, std::max(2 * n, std::uint64_t{256}))};
      for (std::uint32_t copy = 0; copy < copies; ++copy) programs.push_back(make_program(site, {array}, {warm, counted}));
    }
    const std::vector<ChaseResult> results = lab.chase(programs);
    for (std::size_t i = 0; i < footprints.size(); ++i) {
      stats::Histogram sum;
      for (std::uint32_t copy = 0; copy < copies; ++copy) stats::accumulate(sum, results[i * copies + copy].steps[1].histogram);
      survey.footprints_bytes.push_back(footprints[i]);
      survey.histograms.push_back(std::move(sum));
    }
  };

  const double octave = parameters.footprints_per_octave;
  if (site.exclusive) {
    constexpr double kFirst = 16 << 10;
    constexpr double kBeyondL2 = 2.5;
    run(kFirst, kBeyondL2 * static_cast<double>(lab.l2_bytes()), octave / 2, 1);
    return;
  }
  constexpr std::uint32_t kSweepCopies = 3;
  constexpr double kFirst = 512;
  double limit = static_cast<double>(site.clamp(parameters.survey_first_limit_bytes));
  run(kFirst, limit, octave, kSweepCopies);
  const auto last_limit = static_cast<double>(site.clamp(parameters.survey_last_limit_bytes));
  constexpr double kStillHits = 0.25;
  while (limit < last_limit && stats::fraction_below(survey.histograms.back(), nearest_limit) > kStillHits) {
    run(limit * std::exp2(1 / octave), std::min(4 * limit, last_limit), octave, 1);
    limit *= 4;
  }
}

Survey survey_space(Lab& lab, const Site& site) {
  Survey survey;
  survey.site = site;
  const stats::Histogram tiny = run_tiny(lab, survey);
  const ChaseResult cold = run_cold(lab, site);
  survey.cold = cold.steps.front().histogram;
  const std::vector<stats::Histogram> extremes = {tiny, survey.cold};
  survey.levels = stats::find_levels(extremes);
  const double nearest_limit = survey.levels.front().high_cycles;
  if (survey.levels.size() < 2) return survey;

  std::vector<std::vector<std::uint32_t>> passes;
  for (std::size_t i = 1; i < cold.steps.size(); ++i) passes.push_back(cold.steps[i].latencies);
  survey.fetch_bytes =
      fetch_granularity_of(passes, kMinimumStrideBytes, nearest_limit, lab.parameters().line_limit_bytes).bytes;
  sweep_footprints(lab, survey);

  std::vector<stats::Histogram> all = survey.histograms;
  all.push_back(tiny);
  all.push_back(survey.cold);
  survey.levels = stats::find_levels(all);

  // Noise: the median over the small footprints, which all hit, of the part of loads that look like misses.
  std::vector<double> noise;
  for (std::size_t i = 0; i < survey.histograms.size(); ++i) {
    if (survey.footprints_bytes[i] > survey.footprints_bytes.front() * 2 && i > 4) break;
    noise.push_back(1 - stats::fraction_below(survey.histograms[i], survey.levels.front().high_cycles));
  }
  noise.push_back(1 - stats::fraction_below(tiny, survey.levels.front().high_cycles));
  survey.noise = stats::median(noise);
  std::string levels;
  for (const stats::Level& level : survey.levels) levels += fmt::format(" {:.0f}[{:.0f},{:.0f})", level.mode_cycles, level.low_cycles, level.high_cycles);
  lab.log(fmt::format("survey {}: fetch {} B, timer {:.1f} cycles, noise {:.4f}, levels{}", to_string(site.space),
                      survey.fetch_bytes, survey.timer_cycles, survey.noise, levels));
  return survey;
}

Cache find_cache(const Survey& survey, std::size_t depth, bool merge_rest) {
  if (survey.levels.size() < 2 || (merge_rest ? 0 : depth) >= survey.levels.size()) {
    throw NotPresent(fmt::format("loads in the {} space show {} level(s) only, so there is no cache at level {}",
                                 to_string(survey.site.space), survey.levels.size(), depth + 1));
  }
  Cache cache;
  cache.survey = &survey;
  cache.first_level = merge_rest ? 0 : depth;
  cache.last_level = merge_rest ? survey.levels.size() - 2 : depth;
  cache.fetch_bytes = survey.fetch_bytes;
  const double limit = cache.hit_limit_cycles();
  bool fits = true;
  for (std::size_t i = 0; i < survey.footprints_bytes.size(); ++i) {
    const double hits = stats::fraction_below(survey.histograms[i], limit);
    const auto bytes = static_cast<double>(survey.footprints_bytes[i]);
    constexpr double kSurveyTolerance = 0.01;  // coarse: the size probe draws the edge
    fits = fits && hits >= 1 - survey.noise - kSurveyTolerance;
    if (fits) cache.fits_bytes = survey.footprints_bytes[i];
    cache.resident_bytes = std::max(cache.resident_bytes, hits * bytes);
  }
  return cache;
}

}  // namespace gputopo::probe
