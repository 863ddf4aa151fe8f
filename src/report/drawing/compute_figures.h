// What computes, as drawings without a script.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/drawing/chart.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

// The peaks of arithmetic as bars, the highest first; empty where there are none.
[[nodiscard]] Markup peaks_svg(const Topology& topology);

// Which operations share a unit: every one against every other, those of a unit together. Empty where the report has
// no pairs.
[[nodiscard]] Markup pipes_svg(const Topology& topology);

// The throughput of an operation of each unit over the number of warps, a barrier's cycles over warps and a branch's
// over its sides, as far as the report holds them among the details of values.
[[nodiscard]] std::vector<Chart> detail_curves(const Topology& topology);

}  // namespace gputopo::report
