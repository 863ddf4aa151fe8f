// How many slices of L2 can be told apart: lines of one slice are at the same distance from every SM, so those that all
// SMs reach in the same time are of one slice. What counts as the same time comes from loading each line again. What
// fools it: slices whose ways differ by less than noise, which look like one.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// Groups of lines that all SMs reach in the same time: the slices that can be told apart.
[[nodiscard]] Attribute measure_slices(Lab& lab, const Cache& l2);

}  // namespace gputopo::probe
