// Which cluster sizes launch, and which SMs are seen in one cluster. A cluster never spans two GPCs (CUDA C++
// Programming Guide, "Thread Block Clusters"), so SMs of one cluster share a GPC, and so do SMs that each share one
// with a third. What fools it: SMs never seen together may still share a GPC, so there are no fewer groups than GPCs.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/bench/probe_runner.h"
#include "probe/compute/sm_resources.h"

namespace gputopo::probe {

// The clusters that a device launches, and where their blocks ran.
struct ClusterSurvey {
  std::vector<std::uint32_t> sizes;                  // sizes that launch, ascending from 2
  std::vector<std::uint32_t> clusters_at_once;       // of each size, as the vendor's interface reports; 0: not reported
  std::uint32_t largest_by_vendor = 0;               // 0: not reported
  std::vector<std::vector<std::uint32_t>> clusters;  // the SMs of every cluster that ran
  Conditions conditions;

  [[nodiscard]] std::uint32_t largest() const { return sizes.back(); }
  // 2, 4, 8, 16 and the largest size, if they launch.
  [[nodiscard]] std::vector<std::uint32_t> measured_sizes() const;
};

// Throws NotSupportedError if not even clusters of two blocks launch.
[[nodiscard]] ClusterSurvey survey_clusters(ProbeRunner& runner);
[[nodiscard]] Attribute max_cluster_size(const ClusterSurvey& survey);
// Groups of SMs that share clusters: GPCs, or parts of them.
[[nodiscard]] Attribute cluster_sms(const ProbeRunner& runner, const ClusterSurvey& survey);
// Throws Inconclusive if the clocks do not distinguish GPCs, or if they contradict the clusters.
[[nodiscard]] Attribute gpc_sms(const ProbeRunner& runner, const ClusterSurvey& survey, const ClockFinding& clocks);

}  // namespace gputopo::probe
