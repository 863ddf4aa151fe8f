// Bandwidth over footprint, from the stream sweeps stored with the bandwidth of one SM.
#pragma once

#include <optional>

#include "gputopo/model.h"
#include "report/drawing/chart.h"

namespace gputopo::report {

// Stream rates of one SM and of all SMs over footprint, with cache capacities as marks. None without a `--full` sweep.
[[nodiscard]] std::optional<Chart> bandwidth_curve(const Topology& topology);

}  // namespace gputopo::report
