// Values of several reports side by side, for example of several GPUs of one model.
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
  std::vector<const Attribute*> each;  // by report; null or unavailable if absent
  double spread = 0;                   // from minimum to maximum, relative to the minimum
};

// Returns numbers that differ between the first report and another one by more than both intervals, largest spread
// first. Points into the reports. `comparisons` holds the first report against each other one.
[[nodiscard]] std::vector<SpreadRow> spread_of(const std::vector<NamedReport>& reports,
                                               const std::vector<Comparison>& comparisons);

// Returns each report's file name without folder and ".json"; the whole path if that is not unique.
[[nodiscard]] std::vector<std::string> short_names(const std::vector<NamedReport>& reports);

}  // namespace gputopo::report
