// Latency and bandwidth over footprint through the whole hierarchy, from the sweeps that found cache sizes and rates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/drawing/chart.h"

namespace gputopo::report {

// Latencies without the timer cost over footprint, one line for each kind of load. None if the report has no sweep.
// Marks are cache capacities (with both edges as the interval), TLB reaches and level latencies.
[[nodiscard]] std::optional<Chart> latency_curve(const Topology& topology);

// Returns the available curves, with titles that name the GPU.
[[nodiscard]] std::vector<Chart> titled_curves(const Topology& topology);

// Title of one curve, with SIMULATED and INCOMPLETE if they apply. `quantity` is "latency" or "bandwidth".
[[nodiscard]] std::string curve_title(const Topology& topology, const std::string& quantity = "latency");

// Capacities of the caches that global loads use. A cache with several names appears once.
[[nodiscard]] std::vector<ChartMark> capacity_marks(const Topology& topology);

inline constexpr const char* kFootprintColumn = "footprint_bytes";

}  // namespace gputopo::report
