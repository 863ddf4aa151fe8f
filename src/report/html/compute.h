// What computes, as a section of an HTML report: peaks, the units that operations share, operations over warps, and the
// table of all of them.
#pragma once

#include <vector>

#include "gputopo/model.h"
#include "report/html/page.h"
#include "report/html/parts.h"

namespace gputopo::report {

// Empty where the report holds nothing of it. Its charts are added to `charts`.
[[nodiscard]] Section compute_section(const Topology& topology, std::vector<PlacedChart>& charts);

}  // namespace gputopo::report
