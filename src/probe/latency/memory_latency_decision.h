// Whether a sweep evicted lines from the last cache to memory, and the near and far sides of memory. Pure functions;
// memory_latency.cpp takes the samples.
//
// What fools it: lines that stay in a far part of the last cache, as slow as memory, if the evictor leaves as many of
// them however long it is.
#pragma once

#include <optional>
#include <span>

#include "stats/histogram.h"

namespace gputopo::probe {

struct SweepEvictionParameters {
  // Loads look like hits up to this quantile of loads of the same lines once they are cached again, and beyond it by
  // this factor times its distance from the median.
  double ordinary_quantile = 0.9;
  double beyond_ordinary = 0.5;
  // If the survey takes at least this part of the cached loads for hits, the others are misses: small caches lose
  // lines. Larger values take these misses for hits; smaller values reject far hits that the survey took for memory.
  double surely_hits = 0.7;
  // Part of the loads that may still look like hits; they are left out. Larger values include lines with the latency
  // of the cache; smaller values sweep caches with random replacement again and again.
  double most_like_hits = 0.005;
  // If loads in the survey's hit band are from memory, at least this part of them stays there after a sweep twice as
  // long. With larger values, random variation looks like evicted lines. The second value applies if the last cache
  // may exceed the evictor, because longer sweeps then leave hardly less of it until the evictor is as large.
  double still_there = 0.7;
  double still_there_of_unknown = 0.93;
  // But if more loads than this are in the band, they are hits, because the survey saw memory beyond it. Larger values
  // take a cache that the evictor does not fill for memory; smaller values take near memory for a cache. If the
  // evictor surely exceeds the last cache, the survey is wrong instead: TLB misses looked like memory.
  double nearly_all = 0.9;
  // Smaller parts of the loads in the band count as none.
  double most_in_band = 0.002;
};

// Loads of lines after a sweep of an evictor.
struct SweptLoads {
  double like_hits = 0;  // part that looks like loads of the same lines once they are cached again
  double in_band = 0;    // part in the band of the last cache and nearer levels, as the survey saw it
};

// Raw latencies below this look like hits. `again`: loads of the same lines once they are cached;
// `survey_limit_cycles`: the survey takes loads below this for hits.
[[nodiscard]] double hit_limit_of(const stats::Histogram& again, double survey_limit_cycles,
                                  const SweepEvictionParameters& parameters = {});
[[nodiscard]] SweptLoads swept_loads(const stats::Histogram& loads, const stats::Histogram& again,
                                     double survey_limit_cycles, const SweepEvictionParameters& parameters = {});
// Whether the last of ever longer sweeps left nothing in the cache. `is_told`: the vendor reports the size of the last
// cache, and each sweep exceeds it.
[[nodiscard]] bool are_evicted(std::span<const SweptLoads> sweeps, bool is_told,
                               const SweepEvictionParameters& parameters = {});
// Whether the last sweep left as many lines in the cache as the one before.
[[nodiscard]] bool are_kept(std::span<const SweptLoads> sweeps, const SweepEvictionParameters& parameters = {});

struct MemorySidesParameters {
  // Width of the smoothing kernel relative to the latency, as for levels (stats/levels.h).
  double relative_bandwidth = 0.04;
  // Distance, in widths, at which the kernel is cut off because it has vanished.
  double kernel_reach = 4;
  // Two sides are separate if the valley between them is below this part of the lower one.
  double valley = 0.5;
  // Least part of the loads on either side. Smaller values take the tail of one side for another side.
  double least_part = 0.2;
};

// Raw latency between the near and far side of memory; empty if there is only one.
[[nodiscard]] std::optional<double> near_far_boundary(const stats::Histogram& loads,
                                                      const MemorySidesParameters& parameters = {});

}  // namespace gputopo::probe
