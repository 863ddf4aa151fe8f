// Latency over footprint through the whole hierarchy, the picture that a GPU is known by, from the sweeps that found
// the sizes of its caches; and bandwidth over footprint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/drawing/chart.h"

namespace gputopo::report {

// A line for each way that loads take: latencies without the timer over footprints. None where the report has no sweep.
// Marks are the capacities of caches, each with its two edges as its interval, the reaches of TLBs and the latencies of
// the levels.
[[nodiscard]] std::optional<Chart> latency_curve(const Topology& topology);

// Both, as far as there are any, with titles that say which GPU they are of.
[[nodiscard]] std::vector<Chart> titled_curves(const Topology& topology);

// The title of one curve, with SIMULATED and INCOMPLETE where that is so. `quantity` is "latency" or "bandwidth".
[[nodiscard]] std::string curve_title(const Topology& topology, const std::string& quantity = "latency");

// The capacities of the caches that global loads pass, each once however many names it has.
[[nodiscard]] std::vector<ChartMark> capacity_marks(const Topology& topology);

inline constexpr const char* kFootprintColumn = "footprint_bytes";

}  // namespace gputopo::report
