// Latency over footprint and stride (Saavedra and Smith 1995; Meltzer et al. 2013): what a load takes of a walk through
// so much memory, again and again, at so large steps. Short steps share lines, long ones sets and translations.
//
// What fools it: nothing is decided here. Walks of very many loads are left out, because one thread would not come to
// their end.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/bench/lab.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

struct LatencySurfaceParameters {
  std::uint64_t least_bytes = 1024;
  std::uint64_t most_stride_bytes = 4u << 20;
  std::uint64_t stride_factor = 4;
  // Of a walk. Fewer are no walk; more take long to bring in.
  std::uint64_t least_elements = 4;
  std::uint64_t most_elements = 1u << 17;
  // Loads that are timed of each.
  std::uint64_t loads = 2048;
};

struct SurfacePoint {
  std::uint64_t footprint_bytes = 0;
  std::uint64_t stride_bytes = 0;
};

// Stride by stride, footprints ascending.
[[nodiscard]] std::vector<SurfacePoint> surface_points(std::uint64_t largest_bytes,
                                                       const LatencySurfaceParameters& parameters = {});

// Samples `latency_surface`: footprint_bytes, stride_bytes, and the mean latency_cycles of a load, its timer taken off.
// `site`: of loads that L1 may answer, alone.
[[nodiscard]] SampleTable measure_latency_surface(Lab& lab, const Site& site, double timer_cycles);

}  // namespace gputopo::probe
