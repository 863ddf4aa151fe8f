// The cost of barriers and branches of an SM.
#pragma once

#include "gputopo/model.h"
#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

// Cycles from one barrier of a block to the next, for one warp; details: for more warps.
[[nodiscard]] Attribute measure_barrier(ProbeRunner& runner);

// Cycles from one barrier of a cluster of two blocks to the next; details: for larger clusters. Throws
// NotSupportedError if the device has no clusters.
[[nodiscard]] Attribute measure_cluster_barrier(ProbeRunner& runner);
// Cycles from one barrier of a block on every SM to the next, by a counter in memory; details: for more warps.
[[nodiscard]] Attribute measure_grid_barrier(ProbeRunner& runner);
// Cycles of a warp from one branch that all lanes take, or from one call and its return, to the next.
[[nodiscard]] Attribute measure_jump(ProbeRunner& runner, OperationId operation);

struct DivergenceFinding {
  Attribute cost;        // cycles of each further side of a branch
  Attribute interleave;  // whether sides run in parallel
};
// Throws Inconclusive if more sides do not take longer along a straight line.
[[nodiscard]] DivergenceFinding measure_divergence(ProbeRunner& runner);

}  // namespace gputopo::probe
