// Drawings of compute units that need no script.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/drawing/chart.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

// Arithmetic peaks as bars, highest first; empty if there are none.
[[nodiscard]] Markup peaks_svg(const Topology& topology);

// Shows which operations share a unit: a matrix of all pairs, sorted by unit. Empty if the report has no pairs.
[[nodiscard]] Markup pipes_svg(const Topology& topology);

// Curves from details: throughput of one operation per unit and barrier cycles over warps, branch cycles over sides.
[[nodiscard]] std::vector<Chart> detail_curves(const Topology& topology);

}  // namespace gputopo::report
