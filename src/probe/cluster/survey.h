// Which cluster sizes launch, and which SMs are seen in one cluster. A cluster never spans two GPCs (CUDA C++
// Programming Guide, "Thread Block Clusters"), so SMs that were in one cluster share a GPC, and SMs that share one with
// a third do. What fools it: SMs that were never seen together may share a GPC all the same, so the groups are at least
// as many as the GPCs.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/bench/lab.h"
#include "probe/compute/sm_resources.h"

namespace gputopo::probe {

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
// Groups of SMs that share clusters: GPCs, or parts of them.
[[nodiscard]] Attribute cluster_sms(const Lab& lab, const ClusterSurvey& survey);
// Throws Inconclusive where clocks do not tell GPCs apart, or contradict the clusters.
[[nodiscard]] Attribute gpc_sms(const Lab& lab, const ClusterSurvey& survey, const ClockFinding& clocks);

}  // namespace gputopo::probe
