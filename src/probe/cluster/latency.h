// Latency of distributed shared memory: one thread of each cluster chases through the shared memory of another block,
// for every distance of ranks. All clusters do so at once, one load each under way, so every launch tells as many pairs
// of SMs as there are clusters. What fools it: pairs that no launch puts into one cluster are not told.
#pragma once

#include "probe/bench/lab.h"
#include "probe/cluster/survey.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_cluster_latency(Lab& lab, const ClusterSurvey& survey);

}  // namespace gputopo::probe
