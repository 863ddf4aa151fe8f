// Bandwidth of distributed shared memory: all warps of each block read the shared memory of one other block of the
// cluster, so that every SM reads and is read. Luo et al. measured the ring, in which each block reads the next rank
// (arXiv 2402.13499); half way round the cluster, no block reads from its own TPC. What fools it: SMs that are in no
// cluster of a size do not read.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/cluster/survey.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_cluster_bandwidth(ProbeRunner& runner, const ClusterSurvey& survey);

}  // namespace gputopo::probe
