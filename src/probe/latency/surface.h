// Latency over footprint and stride (Saavedra and Smith 1995; Meltzer et al. 2013): the mean load of repeated walks
// through a footprint at a stride. Short strides share lines, long ones share sets and translations.
//
// Nothing fools it, because it decides nothing. Very long walks are left out, which one thread would not finish.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/bench/probe_runner.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

struct LatencySurfaceParameters {
  std::uint64_t least_bytes = 1024;
  std::uint64_t most_stride_bytes = 4u << 20;
  std::uint64_t stride_factor = 4;
  // Elements of a walk. Fewer are not a walk; more take long to bring in.
  std::uint64_t least_elements = 4;
  std::uint64_t most_elements = 1u << 17;
  // Timed loads of each walk.
  std::uint64_t loads = 2048;
};

struct SurfacePoint {
  std::uint64_t footprint_bytes = 0;
  std::uint64_t stride_bytes = 0;
};

// Points ordered by stride, then by footprint.
[[nodiscard]] std::vector<SurfacePoint> surface_points(std::uint64_t largest_bytes,
                                                       const LatencySurfaceParameters& parameters = {});

// Samples `latency_surface`: footprint_bytes, stride_bytes, and the mean latency_cycles of a load, without the timer
// cost. `site`: of exclusive loads that L1 may serve.
[[nodiscard]] SampleTable measure_latency_surface(ProbeRunner& runner, const Site& site, double timer_cycles);

}  // namespace gputopo::probe
