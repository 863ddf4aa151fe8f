// The curves of several reports in one plot each: a line for each report, of one way that loads take.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/drawing/curve.h"

namespace gputopo::report {

// Of every way that two reports or more have: latency first, then bandwidth. Latencies are without the timer of their
// own report. `names` are what the reports are called. Marks are the capacities of caches, where they can be told
// apart.
[[nodiscard]] std::vector<Chart> compared_curves(const std::vector<const Topology*>& reports,
                                                 const std::vector<std::string>& names);

}  // namespace gputopo::report
