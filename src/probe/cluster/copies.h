// How often the probes of clusters and bulk copies run each program.
#pragma once

#include <cstdint>

namespace gputopo::probe {

struct ClusterParameters {
  // Copies of each program. More: steadier medians; odd, so that a median is a sample.
  std::uint32_t copies = 5;
  // Copies of each shape of a transfer. Their rates stand beside the value, for which the best shape runs again. Odd.
  std::uint32_t copies_of_shape = 3;
  // Runs of the best shape, for the value.
  std::uint32_t repeats = 9;
};
inline constexpr ClusterParameters kCluster;

}  // namespace gputopo::probe
