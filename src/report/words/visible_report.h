// Reports for a terminal. What formats add themselves (colours) they add to these.
#pragma once

#include "gputopo/model.h"

namespace gputopo::report {

// The report with every text in it a visible line (file/visible.h), its tables of samples empty.
[[nodiscard]] Topology visible_report(const Topology& topology);

}  // namespace gputopo::report
