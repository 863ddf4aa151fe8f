// Bandwidth over footprint, from the sweeps of streams beside the bandwidth of one SM.
#pragma once

#include <optional>

#include "gputopo/model.h"
#include "report/drawing/chart.h"

namespace gputopo::report {

// The rates of streams of one SM and of all SMs over ever larger footprints. None if the report has no such
// sweep, which `--full` makes. Marks are the capacities of caches.
[[nodiscard]] std::optional<Chart> bandwidth_curve(const Topology& topology);

}  // namespace gputopo::report
