// Size of a cache by the change-point method of Groessler and MT4G, to compare with this project's own (size.h).
// change_point_decision.h decides, and says what fools the method.
#pragma once

#include "probe/capacity/change_point_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Throws Inconclusive if the change may be due to chance.
[[nodiscard]] Attribute measure_change_point_size(ProbeRunner& runner, const Site& site,
                                                  const ChangePointQuestion& question);

}  // namespace gputopo::probe
