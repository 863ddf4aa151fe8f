// Clusters of blocks that read one another's shared memory, and asynchronous bulk copies. What fools them: where blocks
// run is the driver's choice, so that not every pair of SMs is seen.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/bench/lab.h"
#include "probe/compute/sm_resources.h"

namespace gputopo::probe {

struct ClusterParameters {
  // Of each program. More: steadier medians; odd, so that a median is a sample.
  std::uint32_t copies = 5;
  // The same of each shape of a transfer, whose rates stand beside the value, which is of the best, run again. Odd.
  std::uint32_t copies_of_shape = 3;
  // Of the one that turned out best, for the value.
  std::uint32_t repeats = 9;
};
inline constexpr ClusterParameters kCluster;

// Which clusters a device launches, and where their blocks ran.
struct ClusterSurvey {
  std::vector<std::uint32_t> sizes;                  // that launched, ascending, from 2 on
  std::vector<std::uint32_t> clusters_at_once;       // of each, as the vendor's interface says; 0: it does not tell
  std::uint32_t largest_by_vendor = 0;               // 0: the interface does not tell
  std::vector<std::vector<std::uint32_t>> clusters;  // the SMs of every cluster that ran
  Conditions conditions;

  [[nodiscard]] std::uint32_t largest() const { return sizes.back(); }
  // 2, 4, 8, 16 and the largest, as far as they launched.
  [[nodiscard]] std::vector<std::uint32_t> measured_sizes() const;
};

// Throws NotSupportedError where not even two blocks make a cluster.
[[nodiscard]] ClusterSurvey survey_clusters(Lab& lab);
[[nodiscard]] Attribute max_cluster_size(const ClusterSurvey& survey);
// The SMs that are seen to share a GPC: groups of them.
// Groups of SMs that share clusters: GPCs, or parts of them.
[[nodiscard]] Attribute cluster_sms(const Lab& lab, const ClusterSurvey& survey);
// Throws Inconclusive where clocks do not tell GPCs apart, or contradict the clusters.
[[nodiscard]] Attribute gpc_sms(const Lab& lab, const ClusterSurvey& survey, const ClockFinding& clocks);

[[nodiscard]] Attribute measure_cluster_latency(Lab& lab, const ClusterSurvey& survey);
[[nodiscard]] Attribute measure_cluster_bandwidth(Lab& lab, const ClusterSurvey& survey);

[[nodiscard]] Attribute measure_bulk_copy_latency(Lab& lab);
[[nodiscard]] Attribute measure_bulk_copy_bandwidth(Lab& lab);

}  // namespace gputopo::probe
