#include "probe/capacity/sampled_residency_decision.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gputopo::probe {
namespace {

// Converts a fraction of an array to bytes, with `left` remaining after what samples evicted. Some misses (many, if
// the array is several capacities) look like hits, and more hits look like misses than at footprints that fit.
stats::Interval with_correction_error(const stats::Interval& part, double left, double scale, double noise,
                                      const SampledArray& array, const SampledResidencyParameters& parameters) {
  const double correction = parameters.correction_error * (1 - left);
  const double at_most = parameters.misjudged_at_most * array.misjudged;
  const double low = std::max(0.0, part.low - at_most * (1 - part.low));
  const double missed = parameters.noise_error * noise + (array.is_behind ? parameters.kept_by_nearer : 0);
  return {low * scale * (1 - correction), part.high * scale * (1 + correction + at_most + missed)};
}

}  // namespace

SamplingPlan plan_sampling(const SampledArray& array, double cache_elements, std::uint64_t wanted_samples,
                           std::uint64_t min_programs, const SampledResidencyParameters& parameters) {
  const double lines = std::max(1.0, cache_elements / array.of_line);
  const double few = std::clamp(parameters.part_of_few_lines * lines, 1.0, parameters.max_of_few_lines);
  const std::uint64_t of_program = wanted_samples / min_programs;
  const double of_wanted = std::max(static_cast<double>(of_program), parameters.least_samples_of_shared);
  const double max_samples =
      array.is_shared ? std::min(of_wanted, parameters.max_samples_of_shared) : parameters.max_samples;
  SamplingPlan plan;
  plan.per_program = static_cast<std::uint64_t>(std::clamp(parameters.part_of_cache * lines, few, max_samples));
  const double touches = array.is_behind ? parameters.max_touches_behind : parameters.max_touches;
  const double alone =
      std::clamp(touches / array.elements, parameters.min_programs_alone, parameters.max_programs_alone);
  const std::uint64_t max_programs = array.is_shared ? static_cast<std::uint64_t>(alone) : parameters.max_programs;
  plan.programs = std::clamp(wanted_samples / plan.per_program, min_programs, max_programs);
  return plan;
}

double least_undisturbed(std::span<const std::uint64_t> hits_of_programs,
                         const SampledResidencyParameters& parameters) {
  const std::vector<double> hits(hits_of_programs.begin(), hits_of_programs.end());
  const double middle = stats::median(hits);
  return middle - parameters.undisturbed_deviations * std::sqrt(std::max(1.0, middle));
}

double mean_part_left(double hits, std::uint64_t samples, const SampledArray& array,
                      const SampledResidencyParameters& parameters) {
  const double held = std::max(1.0, hits * array.elements);  // elements in the cache, all of them the array's
  double resident = held;
  double sum = 0;
  for (std::uint64_t sampled = 0; sampled < samples; ++sampled) {
    const double hit = resident / (array.elements - static_cast<double>(sampled));
    sum += hit;
    // A miss evicts a whole line, and brings what is fetched with the sample.
    const double evicted = array.of_line * resident / held - (array.of_fetch - 1);
    resident -= hit + (1 - hit) * evicted;
  }
  return std::max(parameters.min_part_left, sum / static_cast<double>(samples) / (held / array.elements));
}

SampledResidency residency_of_hits(std::span<const std::uint64_t> hits_of_programs, std::uint64_t samples,
                                   const SampledArray& array, double noise,
                                   const SampledResidencyParameters& parameters) {
  const double least = least_undisturbed(hits_of_programs, parameters);
  std::uint64_t hits = 0;
  std::uint64_t trials = 0;
  for (const std::uint64_t found : hits_of_programs) {
    if (static_cast<double>(found) < least) continue;
    hits += found;
    trials += samples;
  }
  const double part = static_cast<double>(hits) / static_cast<double>(trials);
  const double left = mean_part_left(part, samples, array, parameters);
  const double scale = array.bytes / (1 - noise) / left;
  const stats::Interval interval = stats::proportion_interval(hits / array.alike, trials / array.alike);
  return {part * scale, with_correction_error(interval, left, scale, noise, array, parameters), 0};
}

std::optional<SampledResidency> residency_of_ages(const ResidencyByAge& by_age, std::uint64_t samples,
                                                  const SampledArray& array, double noise,
                                                  const SampledResidencyParameters& parameters) {
  const std::optional<ResidencyByAge::Part> part = by_age.part();
  if (!part) return std::nullopt;
  const double left = mean_part_left(part->value, samples, array, parameters);
  const double scale = array.bytes / (1 - noise) / left;
  return SampledResidency{part->value * scale,
                          with_correction_error(part->interval, left, scale, noise, array, parameters),
                          by_age.old_part(part->value)};
}

}  // namespace gputopo::probe
