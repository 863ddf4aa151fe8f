// How much of an array a cache holds, from a random sample of its elements: how many samples to take, and what their
// hits tell about all elements. Pure functions; sampled_residency.cpp takes the samples.
//
// What fools it: sampling disturbs the cache, because a miss evicts. The correction for this is known to a tenth; it
// assumes that the victim is any resident line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "probe/capacity/residency_by_age.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct SampledResidencyParameters {
  // Fraction of the cache's lines that one program samples. Every missed sample evicts a line; at 0.1 the correction
  // for this is 3%, known to a tenth. Larger values need fewer programs, but a larger correction.
  double part_of_cache = 0.1;
  // Samples of a cache of few lines: at least this fraction of them, from one up to `max_of_few_lines`.
  double part_of_few_lines = 0.25;
  double max_of_few_lines = 4;
  // Most samples of a program: for a cache of one SM, and for one that SMs share, where programs take turns.
  double max_samples = 1024;
  double max_samples_of_shared = 32'768;
  // For a cache that SMs share, no more samples than the fewest programs need in total, but at least this many.
  // Smaller values widen intervals and save little time, because touching the array takes as long.
  double least_samples_of_shared = 8192;
  // Most programs side by side. Larger values narrow intervals; each program costs a launch's share of an SM.
  std::uint64_t max_programs = 12'000;
  // Programs that run alone take turns; their number is bounded by the lines that they touch. More behind another
  // cache, where the nearer one may be a good part of this one's size and young samples tell little.
  double max_touches = 1.5e7;
  double max_touches_behind = 6e7;
  double min_programs_alone = 6;
  double max_programs_alone = 3000;
  // Standard deviations below the median program's hits, from which on a program counts as disturbed by a neighbor.
  // Smaller values discard good programs and so find too much.
  double undisturbed_deviations = 5;
  // Relative error of the correction. The victims depend on the policy; that they are resident lines hardly does.
  double correction_error = 0.1;
  // Lower limit of the corrected factor: samples that evict most of the cache cannot be corrected for.
  double min_part_left = 0.5;
  // The fraction of loads taken for another level's is an estimate, and may be this many times higher. Larger values
  // widen the intervals of caches close to the next level.
  double misjudged_at_most = 6;
  // Hits that look like misses are measured at fitting footprints; at larger ones neighbors cause more. Error
  // relative to that noise. Larger values widen intervals if there is noise.
  double noise_error = 0.75;
  // Loads of lines that a nearer cache keeps do not reach this one, and others take their place: as a fraction of all.
  double kept_by_nearer = 0.01;
};

// Bytes of an array that the cache holds after a pass over it.
struct SampledResidency {
  double bytes = 0;
  stats::Interval interval;
  double old_part = 0;  // fraction still resident of what was loaded longer ago; only behind other caches
};

// The array, and its elements in terms of the cache.
struct SampledArray {
  double elements = 0;
  double bytes = 0;
  double of_line = 1;       // elements per line
  double of_fetch = 1;      // elements that a miss fetches
  bool is_shared = false;   // by SMs: programs take turns
  bool is_behind = false;   // behind another cache
  std::uint64_t alike = 1;  // neighboring samples that may all hit or all miss
  double misjudged = 0;     // fraction of its loads that are taken for another level's, or of theirs for its
};

struct SamplingPlan {
  std::uint64_t per_program = 0;
  std::uint64_t programs = 0;
};

// `cache_elements`: elements that the cache holds, as far as is known. `min_programs`: enough for medians.
[[nodiscard]] SamplingPlan plan_sampling(const SampledArray& array, double cache_elements, std::uint64_t wanted_samples,
                                         std::uint64_t min_programs, const SampledResidencyParameters& parameters = {});

// Fewest hits of an undisturbed program. Programs that a neighbor disturbed find far fewer hits than the others.
[[nodiscard]] double least_undisturbed(std::span<const std::uint64_t> hits_of_programs,
                                       const SampledResidencyParameters& parameters = {});

// Mean hit ratio of a program's samples over that of the first sample, `hits`. Timing a random sample of an array
// disturbs it: a miss evicts a resident line, so later samples hit a little less.
[[nodiscard]] double mean_part_left(double hits, std::uint64_t samples, const SampledArray& array,
                                    const SampledResidencyParameters& parameters = {});

// From the hits of programs of `samples` samples each. `noise`: fraction of the hits that look like misses.
[[nodiscard]] SampledResidency residency_of_hits(std::span<const std::uint64_t> hits_of_programs, std::uint64_t samples,
                                                 const SampledArray& array, double noise,
                                                 const SampledResidencyParameters& parameters = {});

// From samples by age, behind another cache. Nothing if the nearer cache holds nearly all of them.
[[nodiscard]] std::optional<SampledResidency> residency_of_ages(const ResidencyByAge& by_age, std::uint64_t samples,
                                                                const SampledArray& array, double noise,
                                                                const SampledResidencyParameters& parameters = {});

}  // namespace gputopo::probe
