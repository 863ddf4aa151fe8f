#include "probe/capacity/sampled_residency.h"

#include "probe/survey/sweep_decision.h"

namespace gputopo::probe {
namespace {

// Elements of a footprint to time after a pass over it.
struct Sampling {
  ChaseArray array;  // of the first program; each program has its own seed
  SampledArray of_cache;
  SamplingPlan plan;
};

Sampling make_sampling(const ProbeRunner& runner, const Cache& cache, double guess_bytes, double factor,
                       std::uint64_t stride_bytes, std::uint64_t wanted_samples) {
  const Site& site = cache.site();
  const auto stride = static_cast<double>(stride_bytes);
  Sampling sampling;
  sampling.array =
      make_array(site, static_cast<std::uint64_t>(guess_bytes * factor), stride_bytes, counted_order(*cache.survey));
  const auto in_elements = [&](std::uint64_t bytes) {
    return static_cast<double>(std::max(bytes, stride_bytes)) / stride;
  };
  sampling.of_cache = {.elements = static_cast<double>(sampling.array.element_count()),
                       .bytes = static_cast<double>(sampling.array.bytes),
                       .of_line = in_elements(cache.line_or_fetch_bytes()),
                       .of_fetch = in_elements(cache.fetch_bytes),
                       .is_shared = site.exclusive,
                       .is_behind = cache.nearer_bytes > 0,
                       .misjudged = cache.survey->levels[cache.first_level].misjudged};
  sampling.plan = plan_sampling(sampling.of_cache, guess_bytes / stride, wanted_samples, runner.parameters().copies);
  return sampling;
}

ChaseArray array_of_program(const ProbeRunner& runner, const Sampling& sampling, std::uint64_t program) {
  ChaseArray array = sampling.array;
  array.seed = runner.seed() * 1000 + program + 1;
  return array;
}

// Uses only the number of hits of each program.
SampledResidency sampled_nearest(ProbeRunner& runner, const Cache& cache, double limit_cycles,
                                 const Sampling& sampling) {
  std::vector<ChaseProgram> programs;
  for (std::uint64_t i = 0; i < sampling.plan.programs; ++i) {
    const ChaseArray array = array_of_program(runner, sampling, i);
    programs.push_back(make_program(cache.site(), {array}, {warm_step(cache.site(), array)}));
    add_counted_steps(programs.back(), *cache.survey, sampling.plan.per_program);
  }
  std::vector<std::uint64_t> hits_of;
  std::uint64_t samples = sampling.plan.per_program;
  for (const ChaseResult& result : runner.chase(programs)) {
    const stats::Histogram counted = counted_loads(result);
    hits_of.push_back(stats::summarise_band(counted, 0, limit_cycles).count);
    samples = stats::total_count(counted);
  }
  SampledArray of_cache = sampling.of_cache;
  if (cache.survey->counts_in_places) of_cache.alike = CountedPlacesParameters{}.loads_of_place;
  return residency_of_hits(hits_of, samples, of_cache, cache.noise);
}

// Behind another cache, each sample counts with its age.
SampledResidency sampled_behind(ProbeRunner& runner, const Cache& cache, double limit_cycles,
                                const Sampling& sampling) {
  const std::uint64_t samples = sampling.plan.per_program;
  std::vector<ChaseProgram> programs;
  for (std::uint64_t i = 0; i < sampling.plan.programs; ++i) {
    const ChaseArray array = array_of_program(runner, sampling, i);
    programs.push_back(make_program(cache.site(), {array}, {warm_step(cache.site(), array)}));
    add_timed_steps(programs.back(), 0, samples);
  }
  const std::vector<ChaseResult> results = runner.chase(programs);
  std::vector<std::uint64_t> hits_of;
  for (const ChaseResult& result : results) {
    std::uint64_t& hits = hits_of.emplace_back();
    for (const StepResult& step : result.steps) hits += stats::summarise_band(step.histogram, 0, limit_cycles).count;
  }
  const double least = least_undisturbed(hits_of);
  ResidencyByAge by_age(
      ResidencyByAge::useful_bins(sampling.plan.programs * samples, sampling.array.bytes, cache.nearer_bytes));
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (static_cast<double>(hits_of[i]) < least) continue;
    const std::vector<std::uint32_t> order = chain_order(programs[i].arrays.front(), 1, samples);
    std::size_t sample = 0;
    for (const StepResult& step : results[i].steps) {
      for (const std::uint32_t latency : step.latencies) {
        const double age = 1 - (order[sample++] + 0.5) / sampling.of_cache.elements;
        by_age.add(age, latency < cache.hit_floor_cycles(), latency < limit_cycles);
      }
    }
  }
  const std::optional<SampledResidency> found = residency_of_ages(by_age, samples, sampling.of_cache, cache.noise);
  if (!found) throw Inconclusive("the nearer cache holds nearly all loaded lines, so too few loads reach this cache");
  return *found;
}

}  // namespace

SampledResidency sampled_residency(ProbeRunner& runner, const Cache& cache, double limit_cycles, double guess_bytes,
                                   double factor, std::uint64_t stride_bytes, std::uint64_t wanted_samples) {
  const Sampling sampling = make_sampling(runner, cache, guess_bytes, factor, stride_bytes, wanted_samples);
  return cache.nearer_bytes > 0 ? sampled_behind(runner, cache, limit_cycles, sampling)
                                : sampled_nearest(runner, cache, limit_cycles, sampling);
}

}  // namespace gputopo::probe
