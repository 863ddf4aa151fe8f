// Latency over footprint through the whole hierarchy, the picture that a GPU is known by, from the sweeps that found
// the sizes of its caches; and bandwidth over footprint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/drawing/chart.h"

namespace gputopo::report {

struct Curve {
  Chart chart;  // a series for each way that loads take, or each number of SMs
  Attribute
      holder;  // its only table is what is drawn: footprint, number of the series, latency without the timer (or rate)
};

// None where the report has no sweep. Marks are the capacities of caches, each with its two edges as its interval, the
// reaches of TLBs and the latencies of the levels.
[[nodiscard]] std::optional<Curve> latency_curve(const Topology& topology);

// The capacities of the caches that global loads pass, each once however many names it has.
[[nodiscard]] std::vector<ChartMark> capacity_marks(const Topology& topology);

// What a curve is called where it stands alone: of which GPU it is, SIMULATED and INCOMPLETE where that is so.
// `quantity` is "latency" or "bandwidth".
[[nodiscard]] std::string curve_title(const Topology& topology, const std::string& quantity = "latency");

// The columns of every curve's table, before that of its quantity.
inline constexpr const char* kFootprintColumn = "footprint_bytes";
inline constexpr const char* kLineColumn = "line";

}  // namespace gputopo::report
