// Curves of several reports in common plots: one plot per kind of load, with one line per report.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/drawing/curve.h"

namespace gputopo::report {

// One chart for each kind of load that two or more reports have, latency before bandwidth. Latencies exclude the timer
// cost of their report. `names` names the reports. Marks are cache capacities, if readers can tell them apart.
[[nodiscard]] std::vector<Chart> compared_curves(const std::vector<const Topology*>& reports,
                                                 const std::vector<std::string>& names);

}  // namespace gputopo::report
