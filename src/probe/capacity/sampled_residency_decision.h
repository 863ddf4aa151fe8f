// How much of an array a cache holds, from a random sample of its elements: how many to take, and what their hits tell
// of all. Pure functions; sampled_residency.cpp takes the samples.
//
// What fools it: timing a sample disturbs what it finds, because a miss evicts; that is corrected for, to a tenth. The
// correction supposes that what is evicted is any resident line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "probe/capacity/residency_by_age.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct SampledResidencyParameters {
  // Of the lines of the cache, the part that one program samples. Every missed sample evicts a line, which is corrected
  // for: at this part by 3%, known to a tenth. Larger: fewer programs, a larger correction.
  double part_of_cache = 0.1;
  // A few samples even of a cache of a few lines: this part of them, at least one and no more than so many.
  double part_of_few_lines = 0.25;
  double max_of_few_lines = 4;
  // Samples of a program, of a cache of an SM and of one that SMs share, where programs take turns and so must tell
  // more each.
  double max_samples = 1024;
  double max_samples_of_shared = 32'768;
  // Of one that SMs share no more than makes what is wanted of the fewest programs, but so many at least. Fewer: wider
  // intervals, and hardly quicker, as touching the array takes as long.
  double least_samples_of_shared = 8192;
  // Programs side by side. More: narrower intervals; each costs a launch's share of an SM.
  std::uint64_t max_programs = 12'000;
  // Programs that run alone take turns: as many as touch a bounded number of lines. More behind another cache, where
  // the nearer one's size may be a good part of this one's, and what is as young tells little.
  double max_touches = 1.5e7;
  double max_touches_behind = 6e7;
  double min_programs_alone = 6;
  double max_programs_alone = 3000;
  // Standard deviations of a count below the median program, from which on a neighbour is taken to have disturbed one.
  // Smaller throws away good ones, and so finds too much.
  double undisturbed_deviations = 5;
  // Which lines are evicted depends on the replacement; that it is resident ones, not sampled yet, hardly does: the
  // part of the correction that is its error.
  double correction_error = 0.1;
  // Samples that evict most of the cache cannot be corrected for: no more than this is made up for.
  double min_part_left = 0.5;
  // How many loads are taken for another level's is an estimate: they may be so many times more. Larger: wider
  // intervals of caches close to the next level.
  double misjudged_at_most = 6;
  // Hits that look like misses are taken from footprints that fit; of larger ones neighbours take more. The part of
  // them that is the error. Larger: wider intervals where there is noise.
  double noise_error = 0.75;
  // And what the cache before this one keeps is not asked of it, so that others go in its place: of all it holds.
  double kept_by_nearer = 0.01;
};

// Of an array after a pass over it, the bytes that the cache holds.
struct SampledResidency {
  double bytes = 0;
  stats::Interval interval;
  double old_part = 0;  // of what was loaded longer ago than that, still resident; told of caches behind others only
};

// The array, and what its elements are to the cache.
struct SampledArray {
  double elements = 0;
  double bytes = 0;
  double of_line = 1;       // elements of a line
  double of_fetch = 1;      // elements that a miss brings
  bool is_shared = false;   // by SMs: programs take turns
  bool is_behind = false;   // another cache is nearer
  std::uint64_t alike = 1;  // neighbours among the samples that may all hit or all miss
  double misjudged = 0;     // part of its loads that are taken for another level's, or of theirs for its
};

struct SamplingPlan {
  std::uint64_t per_program = 0;
  std::uint64_t programs = 0;
};

// `cache_elements`: that the cache holds, as far as is known; `min_programs`: for medians.
[[nodiscard]] SamplingPlan plan_sampling(const SampledArray& array, double cache_elements, std::uint64_t wanted_samples,
                                         std::uint64_t min_programs, const SampledResidencyParameters& parameters = {});

// Programs that a neighbour disturbed find far less hits than the others do, which find at least this many.
[[nodiscard]] double least_undisturbed(std::span<const std::uint64_t> hits_of_programs,
                                       const SampledResidencyParameters& parameters = {});

// Timing a random sample of an array disturbs what it finds: a miss evicts a resident line, so that later samples hit a
// little less. The mean hit ratio of a program's samples over that of the first, which is `hits`.
[[nodiscard]] double mean_part_left(double hits, std::uint64_t samples, const SampledArray& array,
                                    const SampledResidencyParameters& parameters = {});

// From the hits of programs of so many samples each. `noise`: part of the hits that look like misses.
[[nodiscard]] SampledResidency residency_of_hits(std::span<const std::uint64_t> hits_of_programs, std::uint64_t samples,
                                                 const SampledArray& array, double noise,
                                                 const SampledResidencyParameters& parameters = {});

// From samples by their age, behind another cache. Nothing where that one holds nearly all of them.
[[nodiscard]] std::optional<SampledResidency> residency_of_ages(const ResidencyByAge& by_age, std::uint64_t samples,
                                                                const SampledArray& array, double noise,
                                                                const SampledResidencyParameters& parameters = {});

}  // namespace gputopo::probe
