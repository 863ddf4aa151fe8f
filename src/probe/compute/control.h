// What barriers and branches of an SM cost.
#pragma once

#include "gputopo/model.h"
#include "probe/bench/lab.h"

namespace gputopo::probe {

// Cycles from one barrier of a block to the next, of one warp; of more warps among the details.
[[nodiscard]] Attribute measure_barrier(Lab& lab);

// Cycles from one barrier of a cluster of two blocks to the next; of larger clusters among the details. Throws
// NotSupportedError where the device has no clusters.
[[nodiscard]] Attribute measure_cluster_barrier(Lab& lab);
// Cycles from one barrier of a block on every SM to the next, by a counter in memory; of more warps among the details.
[[nodiscard]] Attribute measure_grid_barrier(Lab& lab);
// Cycles that a warp needs for a branch that all of its lanes take, or for a call and its return: from one to the next.
[[nodiscard]] Attribute measure_jump(Lab& lab, OperationId operation);

struct SidesFinding {
  Attribute cost;        // cycles of each further side of a branch
  Attribute interleave;  // whether sides run beside one another
};
// Throws Inconclusive where more sides do not take longer in a straight line.
[[nodiscard]] SidesFinding measure_sides(Lab& lab);

}  // namespace gputopo::probe
