// Bandwidth of distributed shared memory: all warps of all blocks read the shared memory of another block of their
// cluster, each block that of another, so that every SM reads and is read. The ring (the next rank) is what Luo et al.
// measured (arXiv 2402.13499); half way round the cluster no block reads from its own TPC. What fools it: SMs that are
// in no cluster of a size do not read.
#pragma once

#include "probe/bench/lab.h"
#include "probe/cluster/survey.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_cluster_bandwidth(Lab& lab, const ClusterSurvey& survey);

}  // namespace gputopo::probe
