// The compute section of an HTML report: peaks, shared units, operations over warps, and a table of all operations.
#pragma once

#include <vector>

#include "gputopo/model.h"
#include "report/html/page.h"
#include "report/html/parts.h"

namespace gputopo::report {

// Empty if the report has no such values. Adds its charts to `charts`.
[[nodiscard]] Section compute_section(const Topology& topology, std::vector<PlacedChart>& charts);

}  // namespace gputopo::report
