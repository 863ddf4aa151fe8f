// What barriers and branches of an SM cost.
#pragma once

#include "gputopo/model.h"
#include "probe/lab.h"

namespace gputopo::probe {

// Cycles from one barrier of a block to the next, of one warp; of more warps among the details.
[[nodiscard]] Attribute measure_barrier(Lab& lab);

struct SidesFinding {
  Attribute cost;        // cycles of each further side of a branch
  Attribute interleave;  // whether sides run beside one another
};
// Throws Inconclusive where more sides do not take longer in a straight line.
[[nodiscard]] SidesFinding measure_sides(Lab& lab);

}  // namespace gputopo::probe
