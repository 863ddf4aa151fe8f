// Values of several reports beside one another: of a fleet of one kind, say.
#pragma once

#include <string>
#include <vector>

#include "gputopo/report.h"
#include "report/compare/compare.h"

namespace gputopo::report {

struct SpreadRow {
  std::string title;  // "L2 cache"
  std::string group;
  std::string attribute;
  std::vector<const Attribute*> each;  // by report; null or unavailable: it has none
  double spread = 0;                   // from the least to the greatest, as a part of the least
};

// Of the numbers that differ between the first report and another beyond both intervals, the widest first. Points into
// the reports. `comparisons`: of the first with each of the others.
[[nodiscard]] std::vector<SpreadRow> spread_of(const std::vector<NamedReport>& reports,
                                               const std::vector<Comparison>& comparisons);

// A name for each: what its file is called, without the folder and ".json"; its whole path where that is not unique.
[[nodiscard]] std::vector<std::string> short_names(const std::vector<NamedReport>& reports);

}  // namespace gputopo::report
