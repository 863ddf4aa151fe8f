// Latency over footprint through the whole hierarchy, the picture that a GPU is known by, from the sweeps that found
// the sizes of its caches.
#pragma once

#include <optional>
#include <string>

#include "gputopo/model.h"
#include "report/chart.h"

namespace gputopo::report {

struct Curve {
  Chart chart;       // a series for each way that loads take
  Attribute holder;  // its only table is what is drawn: footprint, number of the series, latency without the timer
};

// None where the report has no sweep. Marks are the capacities of caches, each with its two edges as its interval, the
// reaches of TLBs and the latencies of the levels.
[[nodiscard]] std::optional<Curve> latency_curve(const Topology& topology);

// What it is called where it stands alone: of which GPU it is, SIMULATED and INCOMPLETE where that is so.
[[nodiscard]] std::string curve_title(const Topology& topology);

}  // namespace gputopo::report
