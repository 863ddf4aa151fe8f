// Whether lines that were to be driven out of the last cache went to memory, and the sides that memory has. Pure
// functions; memory_latency.cpp takes the samples.
//
// What fools it: lines that are left in a far part of the last cache, as slow as memory, by an evictor that leaves as
// many of them however long it is.
#pragma once

#include <optional>
#include <span>

#include "stats/histogram.h"

namespace gputopo::probe {

struct SweepEvictionParameters {
  // Loads that look like those of the same lines once they are cached again: up to the ordinary ones of these, and half
  // as far again as those are from the middle.
  double ordinary_quantile = 0.9;
  double beyond_ordinary = 0.5;
  // Where the survey takes so large a part of them for hits, the others are misses: of small caches not all lines stay.
  // Larger: these misses are taken for hits; smaller: the hits of a far part, which the survey took for memory, are
  // not.
  double surely_hits = 0.7;
  // As many of such loads may be left, which are then left out. More: lines whose latency is the cache's count; less:
  // caches that replace at random are swept again and again.
  double most_like_hits = 0.005;
  // So much of what a sweep finds where the survey saw hits is there after one twice as long too, if it is memory.
  // More: what chance brings looks like lines that leave. Where the last cache may be larger than the evictor, a longer
  // one leaves hardly less of it until it is as large.
  double still_there = 0.7;
  double still_there_of_unknown = 0.93;
  // But not where nearly all are there: the survey saw memory farther. More: a cache that the evictor does not fill is
  // memory; less: the near part of memory is a cache. Where the evictor is larger than the last cache for sure, the
  // survey is wrong: misses of a TLB looked like memory.
  double nearly_all = 0.9;
  // Fewer loads where the survey saw hits are none.
  double most_in_band = 0.002;
};

// Loads of lines after a sweep of an evictor.
struct SweptLoads {
  double like_hits = 0;  // part of them that looks like loads of the same lines once they are cached again
  double in_band = 0;    // part of them in the band that the survey gave the last cache, and what is nearer
};

// Raw latencies below this look like those of lines that are cached: `again` are such loads, of the same lines;
// `survey_limit_cycles`: what the survey takes for hits is below.
[[nodiscard]] double hit_limit_of(const stats::Histogram& again, double survey_limit_cycles,
                                  const SweepEvictionParameters& parameters = {});
[[nodiscard]] SweptLoads swept_loads(const stats::Histogram& loads, const stats::Histogram& again,
                                     double survey_limit_cycles, const SweepEvictionParameters& parameters = {});
// Of ever longer sweeps: whether the last one's left nothing in the cache. `is_told`: the vendor tells how large the
// last cache is, and each sweep exceeds that.
[[nodiscard]] bool are_evicted(std::span<const SweptLoads> sweeps, bool is_told,
                               const SweepEvictionParameters& parameters = {});
// Of the same: whether it left as many in the cache as the one before.
[[nodiscard]] bool are_kept(std::span<const SweptLoads> sweeps, const SweepEvictionParameters& parameters = {});

struct MemorySidesParameters {
  // Width of the smoothing kernel relative to the latency, as of levels (stats/levels.h).
  double relative_bandwidth = 0.04;
  // In widths: the kernel is cut off there, where nothing is left of it.
  double kernel_reach = 4;
  // Two sides are apart where the valley between them is below this part of the lower one.
  double valley = 0.5;
  // Of the loads, on either side. Less: the tail of one counts as another.
  double least_part = 0.2;
};

// Where memory has a near and a far side, the raw latency between them.
[[nodiscard]] std::optional<double> between_sides(const stats::Histogram& loads,
                                                  const MemorySidesParameters& parameters = {});

}  // namespace gputopo::probe
