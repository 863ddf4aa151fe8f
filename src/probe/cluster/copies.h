// How often the probes of clusters and bulk copies run each program.
#pragma once

#include <cstdint>

namespace gputopo::probe {

struct ClusterParameters {
  // Copies of each program. Larger values steady the medians. Odd, so that the median is a sample.
  std::uint32_t copies = 5;
  // Copies of each transfer shape. Reports show their rates beside the value, which is from new runs. Odd.
  std::uint32_t copies_of_shape = 3;
  // Runs of the best shape for the value.
  std::uint32_t repeats = 9;
};
inline constexpr ClusterParameters kCluster;

}  // namespace gputopo::probe
