// Number of L2 slices that can be told apart. Lines of one slice are at the same distance from every SM, so lines that
// all SMs reach in the same time are of one slice. Repeated loads of each line tell what counts as the same time. What
// fools it: slices at distances that differ by less than noise, which look like one.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_slices(ProbeRunner& runner, const Cache& l2);

}  // namespace gputopo::probe
