// Latency of distributed shared memory: one thread of each cluster chases through another block's shared memory, for
// every rank distance. All clusters do so at once with one load in flight each, so every launch measures as many pairs
// of SMs as there are clusters. What fools it: pairs that no launch puts into one cluster are not measured.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/cluster/survey.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_cluster_latency(ProbeRunner& runner, const ClusterSurvey& survey);

}  // namespace gputopo::probe
