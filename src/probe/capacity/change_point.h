// The size of a cache by the change-point method of the seeds, beside this project's own (size.h). What decides, and
// what fools it, is in change_point_decision.h.
#pragma once

#include "probe/capacity/change_point_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Throws Inconclusive where the change that is found may be chance.
[[nodiscard]] Attribute measure_change_point_size(Lab& lab, const Site& site, const ChangePointQuestion& question);

}  // namespace gputopo::probe
