#include "probe/survey/survey.h"

#include <fmt/format.h>

#include <numeric>

#include "probe/survey/band_latency.h"
#include "probe/survey/fetch_granularity.h"
#include "probe/survey/sweep_decision.h"
#include "stats/close_levels.h"

namespace gputopo::probe {
namespace {

struct SurveyParameters {
  // Timed loads of the tiny array: enough to tell its outliers.
  std::uint64_t tiny_timed_loads = 1024;
  // Part that is trimmed from either end of the timed loads, so that outliers do not end up in the timer cost.
  double timer_trim = 0.1;
  // First touches, one load per line: enough to see the latency of memory. The stride exceeds any line seen so far.
  std::uint64_t cold_loads = 64;
  std::uint64_t cold_stride_bytes = 512;
  // Bytes of each pass at the smallest stride: some dozens of the longest fetches.
  std::uint64_t cold_pass_bytes = 8192;
  // Stride of the evictor: the shortest fetch seen so far.
  std::uint64_t evictor_stride_bytes = 32;
  // Divisors of a limited space: the parts that first touches take, and that all passes take together.
  std::uint64_t cold_loads_divisor = 2;
  std::uint64_t cold_passes_divisor = 4;
};
constexpr SurveyParameters kSurveyParameters;

// The latency of loads that all hit: untimed and therefore exact, and timed. The difference is the timer cost.
void run_tiny(ProbeRunner& runner, Survey& survey) {
  const ChaseArray array = make_array(survey.site, runner.parameters().tiny_bytes, kMinimumStrideBytes);
  survey.tiny_bytes = array.bytes;
  std::vector<ChaseStep> steps = {{.kind = StepKind::kWarm, .loads = 4 * array.element_count()},
                                  {.kind = StepKind::kTimed, .loads = kSurveyParameters.tiny_timed_loads}};
  const std::size_t untimed = steps.size();
  add_untimed_chain(steps, array);
  const ChaseProgram program = make_program(survey.site, {array}, steps);
  std::vector<double> timer_costs;
  for (const ChaseResult& copy : runner.chase(std::vector<ChaseProgram>(runner.parameters().copies, program))) {
    const double latency = untimed_latency(copy, untimed);
    const StepResult& timed_step = copy.steps[1];
    const std::vector<double> timed(timed_step.latencies.begin(), timed_step.latencies.end());
    survey.tiny_latencies_cycles.push_back(latency);
    timer_costs.push_back(stats::trimmed_mean(timed, kSurveyParameters.timer_trim) - latency);
    stats::accumulate(survey.tiny, timed_step.histogram);
  }
  survey.timer_cycles = stats::median(timer_costs);
}

// Reduces `wanted` to a part of the space if the space has a limit.
std::uint64_t affordable(const Site& site, std::uint64_t wanted, std::uint64_t divisor) {
  return site.limit_bytes == 0 ? wanted : std::min(wanted, site.limit_bytes / divisor);
}

void run_cold(ProbeRunner& runner, Survey& survey) {
  ColdLoads cold = run_cold_loads(runner, survey.site);
  survey.cold = std::move(cold.first_touches);
  survey.cold_passes = std::move(cold.passes);
}

// Walks a footprint and then counts loads of it. In an exclusive program the block touches the footprint and a
// shuffled sample is counted, because one thread cannot walk it all. Otherwise the same order is walked again: with
// LRU replacement, a footprint beyond the capacity then misses wherever a set overflows.
ChaseProgram sweep_program(const ProbeRunner& runner, const Survey& survey, std::uint64_t bytes) {
  const Site& site = survey.site;
  const ChaseArray array =
      make_array(site, bytes, survey.fetch_bytes, site.exclusive ? counted_order(survey) : Order::kReversed);
  const std::uint64_t n = array.element_count();
  constexpr SweepParameters kSweep;
  ChaseProgram program = make_program(site, {array}, {warm_step(site, array)});
  if (site.exclusive) {
    add_counted_steps(program, survey,
                      std::min(runner.parameters().exclusive_loads,
                               std::max(n / kSweep.elements_of_load, kSweep.min_loads_of_shared)));
  } else {
    program.steps.push_back(
        {.kind = StepKind::kCounted,
         .loads = std::min(runner.parameters().survey_loads, std::max(kSweep.passes * n, kSweep.min_loads))});
  }
  return program;
}

void run_part(ProbeRunner& runner, Survey& survey, const SweepPart& part) {
  std::vector<ChaseProgram> programs;
  std::vector<std::uint64_t> footprints;
  for (const double bytes : part.footprints()) {
    const ChaseProgram program = sweep_program(runner, survey, static_cast<std::uint64_t>(bytes));
    const std::uint64_t footprint = program.arrays.front().bytes;
    if (!footprints.empty() && footprints.back() == footprint) continue;
    footprints.push_back(footprint);
    programs.insert(programs.end(), part.copies, program);
  }
  const std::vector<ChaseResult> results = runner.chase(programs);
  for (std::size_t i = 0; i < footprints.size(); ++i) {
    stats::Histogram sum;
    for (std::uint32_t copy = 0; copy < part.copies; ++copy) {
      stats::accumulate(sum, counted_loads(results[i * part.copies + copy]));
    }
    survey.footprints_bytes.push_back(footprints[i]);
    survey.histograms.push_back(std::move(sum));
  }
}

std::string words_of(const std::vector<stats::Level>& levels) {
  std::string words;
  for (const stats::Level& level : levels) {
    words += fmt::format(" {:.0f}[{:.0f},{:.0f})", level.mode_cycles, level.low_cycles, level.high_cycles);
  }
  return words;
}

struct LevelsFound {
  std::vector<stats::Level> levels;
  std::optional<std::size_t> unsure;
};

// Levels from the histograms of footprints. Constant caches have been as small as the first footprints and have no
// slices, so there the tiny array alone may show the nearest level.
LevelsFound levels_of(const Survey& survey, const std::vector<stats::Histogram>& footprints) {
  stats::CloseLevelParameters parameters;
  if (survey.site.space == Space::kConstant) parameters.least_first_footprints = 1;
  LevelsFound found;
  found.levels = stats::split_close_levels(footprints, stats::find_levels(footprints), found.unsure, parameters);
  return found;
}

LevelsFound levels_of_all(const Survey& survey) {
  std::vector<stats::Histogram> all = {survey.tiny};
  all.insert(all.end(), survey.histograms.begin(), survey.histograms.end());
  all.push_back(survey.cold);
  return levels_of(survey, all);
}

// A cache that the vendor does not report may be larger than the footprints that the reported caches suggest.
void sweep_shared(ProbeRunner& runner, Survey& survey) {
  std::optional<SweepPart> part = shared_sweep(static_cast<double>(runner.last_cache_bytes()));
  while (part) {
    run_part(runner, survey, *part);
    if (runner.is_last_cache_reported()) return;
    const std::vector<stats::Level> levels = levels_of_all(survey).levels;
    const bool is_close = levels.size() == 1 && is_nearer_than_memory(survey.histograms.back(), survey.cold);
    const double nearer = is_close ? 1 : part_before_memory(survey.histograms.back(), levels, survey.cold);
    part =
        next_shared_sweep(static_cast<double>(survey.footprints_bytes.back()), nearer, runner.info().max_array_bytes);
  }
}

// Near and far memory are not two caches, and it does not matter whether they can be told apart. `footprints` should
// not wait for translations, which would add levels of their own.
LevelsFound merge_memory(const Survey& survey, LevelsFound found, const std::vector<stats::Histogram>& footprints) {
  if (!survey.site.exclusive) return found;
  found.levels = with_memory_as_one(std::move(found.levels), footprints, survey.cold);
  if (found.unsure && *found.unsure + 1 >= found.levels.size()) found.unsure.reset();
  return found;
}

// Loads of footprints beyond the reach of a TLB wait for its misses. Removes the levels that such misses form, and
// drops these footprints if smaller ones show all levels.
void set_translation_aside(ProbeRunner& runner, Survey& survey, const Translation& translation) {
  const auto within = static_cast<std::size_t>(
      std::ranges::upper_bound(survey.footprints_bytes, translation.free_bytes) - survey.footprints_bytes.begin());
  std::vector<stats::Histogram> free = {survey.tiny};
  free.insert(free.end(), survey.histograms.begin(), survey.histograms.begin() + static_cast<std::ptrdiff_t>(within));
  free.push_back(survey.cold);
  const LevelsFound of_free = merge_memory(survey, levels_of(survey, free), free);
  if (within > 0 && shows_all_levels(survey.histograms[within - 1], of_free.levels)) {
    survey.levels = of_free.levels;
    survey.unsure_level = of_free.unsure;
    survey.footprints_bytes.resize(within);
    survey.histograms.resize(within);
    runner.log(fmt::format(
        "survey {}: loads beyond {} B wait for address translation, but footprints this large are not needed",
        to_string(survey.site.space), translation.free_bytes));
    return;
  }
  if (translation.added_cycles.empty()) return;
  survey.translation = translation;
  runner.log(fmt::format("survey {}: beyond {} B, address translation adds at most {:.0f} cycles; levels{}",
                         to_string(survey.site.space), translation.free_bytes, translation.added_cycles.back(),
                         words_of(survey.levels)));
  survey.levels = levels_without_translation(of_free.levels, survey.levels, translation.added_cycles);
  if (const auto unsure = level_hidden_by_translation(survey.levels, translation.added_cycles)) {
    survey.unsure_level = unsure;
    survey.counts_in_places = true;
  }
}

}  // namespace

ColdLoads run_cold_loads(ProbeRunner& runner, const Site& site, std::uint32_t l2_fetch_bytes) {
  const std::uint64_t passes = runner.parameters().copies;
  const std::uint64_t stride = kSurveyParameters.cold_stride_bytes;
  const std::uint64_t loads =
      affordable(site, kSurveyParameters.cold_loads, kSurveyParameters.cold_loads_divisor * stride);
  const std::uint64_t pass_bytes =
      affordable(site, kSurveyParameters.cold_pass_bytes, kSurveyParameters.cold_passes_divisor * passes);
  std::vector<ChaseArray> arrays = {make_array(site, loads * stride, stride)};
  arrays.insert(arrays.end(), passes, make_array(site, pass_bytes, kMinimumStrideBytes));
  std::vector<ChaseStep> steps;
  for (std::uint32_t i = 0; i < arrays.size(); ++i) {
    steps.push_back({.kind = StepKind::kTimed, .array = i, .loads = arrays[i].element_count()});
  }
  // Evicting what SMs share takes that much. Local arrays are written by the kernel and may be in L1; an array of all
  // the remaining room evicts them.
  const bool evicts = site.exclusive || site.space == Space::kLocal;
  if (evicts) {
    const std::uint64_t used = std::accumulate(arrays.begin(), arrays.end(), std::uint64_t{0},
                                               [](std::uint64_t sum, const ChaseArray& a) { return sum + a.bytes; });
    const std::uint64_t room = site.exclusive ? runner.last_cache_evictor_bytes() : site.limit_bytes - used;
    arrays.push_back(make_array(site, room, kSurveyParameters.evictor_stride_bytes));
    steps.insert(steps.begin(), warm_step(site, arrays.back(), static_cast<std::uint32_t>(arrays.size() - 1)));
  }
  ChaseProgram program = make_program(site, std::move(arrays), std::move(steps));
  program.l2_fetch_bytes = l2_fetch_bytes;
  std::vector<StepResult> results = runner.chase({std::move(program)}).front().steps;
  if (evicts) results.erase(results.begin());
  ColdLoads cold{.first_touches = std::move(results.front().histogram), .passes = {}};
  for (std::size_t i = 1; i < results.size(); ++i) cold.passes.push_back(std::move(results[i].latencies));
  return cold;
}

void sweep_footprints(ProbeRunner& runner, Survey& survey, std::uint64_t enough_bytes) {
  survey.footprints_bytes.clear();
  survey.histograms.clear();
  if (survey.site.exclusive) {
    sweep_shared(runner, survey);
    return;
  }
  const double nearest_limit = survey.levels.front().high_cycles;
  const std::uint64_t most = enough_bytes == 0 ? survey.site.limit_bytes : survey.site.clamp(enough_bytes);
  std::optional<SweepPart> part = first_sweep_part(most);
  while (part) {
    run_part(runner, survey, *part);
    const double hits = stats::fraction_below(survey.histograms.back(), nearest_limit);
    part = next_sweep_part(part->to_bytes, hits, survey.site.limit_bytes);
  }
}

namespace {

// The fetch granularity of the nearest cache: its hits in passes over arrays that were in no cache. Hits of a next
// level that is hardly slower look like hits of the nearest one. If loads hardly slower than the tiny array form a
// clear pattern of shorter fetches, that pattern is the nearest cache's.
std::uint64_t fetched_at_once(const ProbeRunner& runner, const Survey& survey) {
  const double limit = std::min(nearest_limit_cycles(survey.tiny), survey.levels.front().high_cycles);
  const std::uint64_t stride = survey.site.least_stride_bytes();
  const auto fetch_below = [&](double cycles) {
    return fetch_granularity_of(survey.cold_passes, stride, cycles, runner.parameters().line_limit_bytes);
  };
  const FetchGranularity wide = fetch_below(limit);
  const FetchGranularity narrow = fetch_below(hit_limit_in_cold_pass({{survey.tiny}}, {.high_cycles = limit}));
  // If all loads are slower than the tiny array, as on lines far away, none hit and there is no pattern.
  const bool is_clear = narrow.bytes > stride && narrow.agreement >= FetchGranularityParameters{}.min_agreement;
  return is_clear ? std::min(narrow.bytes, wide.bytes) : wide.bytes;
}

void find_levels(Survey& survey) {
  LevelsFound found = levels_of_all(survey);
  survey.levels = std::move(found.levels);
  survey.unsure_level = found.unsure;
}

// Sweeps again without counting loads that wait for translations. Then no level needs to be set aside.
void sweep_in_places(ProbeRunner& runner, Survey& survey) {
  survey.translation = {};
  sweep_footprints(runner, survey);
  find_levels(survey);
  runner.log(
      fmt::format("survey {}: the sweep is repeated without loads that wait for address translation, because the wait "
                  "would hide levels",
                  to_string(survey.site.space)));
}

}  // namespace

Survey begin_survey(ProbeRunner& runner, const Site& site) {
  Survey survey;
  survey.site = site;
  run_tiny(runner, survey);
  survey.tiny_conditions = runner.conditions();
  survey.conditions = runner.conditions();
  return survey;
}

Survey complete_survey(ProbeRunner& runner, Survey survey, const TranslationCallback& translation_of) {
  ProbeRunner of_cold = runner.another();
  run_cold(of_cold, survey);
  survey.cold_conditions = of_cold.conditions();
  survey.conditions.add(of_cold.conditions());
  const std::vector<stats::Histogram> extremes = {survey.tiny, survey.cold};
  survey.levels = stats::find_levels(extremes);
  // Levels this close show only in footprints between the two, by the share of the nearer one.
  const bool are_close =
      survey.levels.size() == 1 && survey.site.exclusive && is_nearer_than_memory(survey.tiny, survey.cold);
  if (survey.levels.size() >= 2 || are_close) {
    survey.levels.front().high_cycles = nearest_limit_cycles(survey.tiny);
    // The next level may be nearer than that limit. Then what was fetched into it looked like hits of the first level,
    // and the loads of the sweep were too far apart.
    do {
      survey.fetch_bytes = fetched_at_once(runner, survey);
      sweep_footprints(runner, survey);
      find_levels(survey);
    } while (fetched_at_once(runner, survey) < survey.fetch_bytes);
    const std::uint64_t largest = survey.footprints_bytes.back();
    const Translation translation = translation_of ? translation_of(largest) : Translation{};
    if (translation.free_bytes > 0 && translation.free_bytes < largest) {
      set_translation_aside(runner, survey, translation);
    }
    if (survey.counts_in_places) sweep_in_places(runner, survey);
    LevelsFound found = merge_memory(survey, {survey.levels, survey.unsure_level}, survey.histograms);
    survey.levels = std::move(found.levels);
    survey.unsure_level = found.unsure;
    if (!survey.site.exclusive && tiny_array_is_two(survey.tiny, survey.levels.front())) survey.unsure_level = 0;
    if (survey.unsure_level) {
      runner.log(fmt::format("survey {}: level {} is two levels that are too close to tell apart",
                             to_string(survey.site.space), *survey.unsure_level + 1));
    }
    runner.log(fmt::format("survey {}: fetch {} B, timer {:.1f} cycles, levels{}", to_string(survey.site.space),
                           survey.fetch_bytes, survey.timer_cycles, words_of(survey.levels)));
  }
  survey.conditions.add(runner.conditions());
  return survey;
}

}  // namespace gputopo::probe
