// The survey of a space: tiny array, cold passes, then a sweep over footprints whose single loads are clustered into
// levels.
#include <fmt/format.h>

#include <cmath>

#include "probe/fetch_granularity.h"
#include "probe/site.h"
#include "probe/size.h"

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kTinyTimedLoads = 1024;
constexpr std::uint64_t kColdLoads = 64;
constexpr std::uint64_t kColdPassBytes = 8192;

// Latency of loads that all hit: untimed, so exact; and timed, so that the timer's cost is the difference.
stats::Histogram run_tiny(Lab& lab, Survey& survey) {
  const ChaseArray array = make_array(survey.site, lab.parameters().tiny_bytes, kMinimumStrideBytes);
  const std::uint64_t n = array.element_count();
  std::vector<ChaseStep> steps = {{.kind = StepKind::kWarm, .loads = 4 * n},
                                  {.kind = StepKind::kTimed, .loads = kTinyTimedLoads}};
  const std::size_t untimed = steps.size();
  add_untimed_chain(steps, array);
  const ChaseProgram program = make_program(survey.site, {array}, steps);
  stats::Histogram histogram;
  std::vector<double> timer_costs;
  for (const ChaseResult& copy : lab.chase(std::vector<ChaseProgram>(lab.parameters().copies, program))) {
    const double latency = untimed_latency(copy, untimed);
    const StepResult& timed_step = copy.steps[1];
    const std::vector<double> timed(timed_step.latencies.begin(), timed_step.latencies.end());
    survey.tiny_latencies_cycles.push_back(latency);
    // A tenth off each end: outliers of the timed loads would end up in the timer's cost.
    constexpr double kTrim = 0.1;
    timer_costs.push_back(stats::trimmed_mean(timed, kTrim) - latency);
    stats::accumulate(histogram, timed_step.histogram);
  }
  survey.timer_cycles = stats::median(timer_costs);
  return histogram;
}

// First touches: one load a line, and passes at the smallest stride for the fetch granularity, each over an array of
// its own. None is in a cache: arrays of a new program are in no cache of an SM, and what the SMs share is evicted
// first.
void run_cold(Lab& lab, Survey& survey) {
  const Site& site = survey.site;
  const Parameters& parameters = lab.parameters();
  const std::uint64_t spread =
      site.limit_bytes == 0 ? kColdLoads : std::min(kColdLoads, site.limit_bytes / 2 / parameters.cold_stride_bytes);
  std::vector<ChaseArray> arrays = {
      make_array(site, spread * parameters.cold_stride_bytes, parameters.cold_stride_bytes)};
  const std::uint64_t passes = parameters.copies;
  const std::uint64_t pass_bytes =
      site.limit_bytes == 0 ? kColdPassBytes : std::min(kColdPassBytes, site.limit_bytes / 4 / passes);
  arrays.insert(arrays.end(), passes, make_array(site, pass_bytes, kMinimumStrideBytes));
  std::vector<ChaseStep> steps;
  for (std::uint32_t i = 0; i < arrays.size(); ++i) {
    steps.push_back({.kind = StepKind::kTimed, .array = i, .loads = arrays[i].element_count()});
  }
  if (site.exclusive) {
    constexpr std::uint64_t kShortestFetch = 32;
    arrays.push_back(make_array(site, lab.last_cache_evictor_bytes(), kShortestFetch));
    steps.insert(steps.begin(), warm_step(site, arrays.back(), static_cast<std::uint32_t>(arrays.size() - 1)));
  }
  std::vector<StepResult> results = lab.chase({make_program(site, std::move(arrays), std::move(steps))}).front().steps;
  if (site.exclusive) results.erase(results.begin());
  survey.cold = std::move(results.front().histogram);
  for (std::size_t i = 1; i < results.size(); ++i) survey.cold_passes.push_back(std::move(results[i].latencies));
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
      // Alone: a sample in shuffled order after a touch, because one thread could not walk it all. Otherwise the same
      // order again: under LRU replacement a footprint over the capacity then misses wherever a set overflows.
      const ChaseStep counted =
          site.exclusive ? ChaseStep{.kind = StepKind::kCounted,
                                     .loads = std::min(parameters.exclusive_loads, std::max(n / 8, std::uint64_t{64})),
                                     .chain = 1}
                         : ChaseStep{.kind = StepKind::kCounted,
                                     .loads = std::min(parameters.survey_loads, std::max(2 * n, std::uint64_t{256}))};
      for (std::uint32_t copy = 0; copy < copies; ++copy)
        programs.push_back(make_program(site, {array}, {warm, counted}));
    }
    const std::vector<ChaseResult> results = lab.chase(programs);
    for (std::size_t i = 0; i < footprints.size(); ++i) {
      stats::Histogram sum;
      for (std::uint32_t copy = 0; copy < copies; ++copy)
        stats::accumulate(sum, results[i * copies + copy].steps[1].histogram);
      survey.footprints_bytes.push_back(footprints[i]);
      survey.histograms.push_back(std::move(sum));
    }
  };

  const double octave = parameters.footprints_per_octave;
  if (site.exclusive) {
    constexpr double kFirst = 16 << 10;
    constexpr double kBeyondL2 = 2.5;
    run(kFirst, kBeyondL2 * static_cast<double>(lab.last_cache_bytes()), octave / 2, 1);
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

Survey begin_survey(Lab& lab, const Site& site) {
  Survey survey;
  survey.site = site;
  survey.tiny = run_tiny(lab, survey);
  survey.conditions.add(lab.conditions());
  return survey;
}

Survey complete_survey(Lab& lab, Survey survey) {
  const Site& site = survey.site;
  const stats::Histogram& tiny = survey.tiny;
  run_cold(lab, survey);
  const std::vector<stats::Histogram> extremes = {tiny, survey.cold};
  survey.levels = stats::find_levels(extremes);
  if (survey.levels.size() < 2) {
    survey.conditions.add(lab.conditions());
    return survey;
  }
  // Between the tiny array and the cold pass there may be levels that neither shows, so the nearest level ends just
  // above the tiny array's own spread until the sweep has shown the next one.
  constexpr double kSpreadQuantile = 0.95;
  constexpr double kMargin = 0.15;
  constexpr double kLeastMarginCycles = 6;
  const double spread = stats::histogram_quantile(tiny, kSpreadQuantile);
  const double nearest_limit = spread + std::max(kLeastMarginCycles, kMargin * spread);
  survey.levels.front().high_cycles = nearest_limit;

  survey.fetch_bytes =
      fetch_granularity_of(survey.cold_passes, kMinimumStrideBytes, nearest_limit, lab.parameters().line_limit_bytes)
          .bytes;
  sweep_footprints(lab, survey);

  std::vector<stats::Histogram> all = survey.histograms;
  all.push_back(tiny);
  all.push_back(survey.cold);
  survey.levels = stats::find_levels(all);
  survey.conditions.add(lab.conditions());

  std::string levels;
  for (const stats::Level& level : survey.levels)
    levels += fmt::format(" {:.0f}[{:.0f},{:.0f})", level.mode_cycles, level.low_cycles, level.high_cycles);
  lab.log(fmt::format("survey {}: fetch {} B, timer {:.1f} cycles, levels{}", to_string(site.space), survey.fetch_bytes,
                      survey.timer_cycles, levels));
  return survey;
}

Cache find_cache(const Survey& survey, std::size_t depth, bool merge_rest) {
  if (survey.levels.size() < 2 || depth >= survey.levels.size()) {
    throw NotPresent(fmt::format("loads in the {} space show {} level(s) only, so there is no cache at level {}",
                                 to_string(survey.site.space), survey.levels.size(), depth + 1));
  }
  Cache cache;
  cache.survey = &survey;
  cache.first_level = depth;
  cache.last_level = merge_rest ? survey.levels.size() - 2 : depth;
  cache.fetch_bytes = survey.fetch_bytes;
  return read_again(cache);
}

Cache read_again(Cache cache) {
  const Survey& survey = *cache.survey;
  const double limit = cache.hit_limit_cycles();
  cache.fits_bytes = 0;
  cache.resident_bytes = 0;
  cache.nearer_bytes = 0;
  const double tiny_noise = 1 - stats::fraction_below(survey.tiny, limit);
  std::vector<double> small = {tiny_noise};
  for (std::size_t i = 0; i < survey.footprints_bytes.size(); ++i) {
    const double hits = stats::fraction_below(survey.histograms[i], limit);
    const auto bytes = static_cast<double>(survey.footprints_bytes[i]);
    constexpr double kSurveyTolerance = 0.01;  // coarse: the size probe draws the edge
    // The largest, even if a smaller one missed: what is part of an array that fits does too, so that was a neighbour.
    if (hits >= 1 - tiny_noise - kSurveyTolerance) {
      cache.fits_bytes = survey.footprints_bytes[i];
      constexpr std::uint64_t kEnoughLoads = 1024;
      if (stats::total_count(survey.histograms[i]) >= kEnoughLoads) small.push_back(1 - hits);
    }
    const double nearer = stats::fraction_below(survey.histograms[i], cache.hit_floor_cycles());
    cache.nearer_bytes = std::max(cache.nearer_bytes, static_cast<std::uint64_t>(nearer * bytes));
    cache.resident_bytes = std::max(cache.resident_bytes, (1 - (1 - hits) / cache.misses_at_most()) * bytes);
  }
  // The upper half of what fits may already hold the first misses.
  small.resize((small.size() + 1) / 2);
  cache.noise = stats::median(small);
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

Cache with(Cache cache, const Capacity& capacity) {
  cache.size_bytes = capacity.bytes;
  if (capacity.first_miss_bytes > 0) cache.fits_bytes = static_cast<std::uint64_t>(capacity.first_miss_bytes);
  return cache;
}

}  // namespace gputopo::probe
