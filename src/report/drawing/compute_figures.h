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

// Something over the number of warps (or of sides of a branch), from lists among the details of values.
struct DetailCurve {
  std::string heading;
  Chart chart;
  Attribute holder;  // with the samples, for the text of its figure
};
// The throughput of an operation of each unit, a barrier's and a branch's cycles, as far as the report holds them.
[[nodiscard]] std::vector<DetailCurve> detail_curves(const Topology& topology);

}  // namespace gputopo::report
