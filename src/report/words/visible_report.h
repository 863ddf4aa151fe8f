// Makes reports safe for a terminal. Formats add their own colors afterwards.
#pragma once

#include "gputopo/model.h"

namespace gputopo::report {

// Returns the report with every text as a visible line (file/visible.h) and with empty sample tables.
[[nodiscard]] Topology visible_report(const Topology& topology);

}  // namespace gputopo::report
