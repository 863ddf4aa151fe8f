// Compares a report with figures that papers, vendors and other tools published for its GPU.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"
#include "gputopo/report.h"

namespace gputopo::report {

// published/published.json, embedded in the binary.
extern const std::string_view kPublishedJson;

struct PublishedValue {
  double value = 0;
  std::string condition;  // condition of the figure; empty if the source names none
  std::string kind;       // "vendor doc", "peer reviewed", "preprint", "tool measured", "article"
  std::string source;
  bool agrees = false;             // inside the interval of the report's value, or close to the value
  std::optional<double> relative;  // change relative to the report: 0.1 is 10% more
};

// A value of the report and its published figures, if any.
struct PublishedComparison {
  std::string group;  // as ValueGroup::id
  std::string title;
  std::string attribute;
  const Attribute* own = nullptr;
  std::vector<PublishedValue> values;
  [[nodiscard]] bool agrees() const;  // true if at least one figure agrees
};

// One entry for each number that is not a condition of the run. Points into the report. Empty for an unknown GPU.
[[nodiscard]] std::vector<PublishedComparison> compare_with_published(const Topology& topology);

// The figure, the kind of its source, and the difference: "differs by +11%: 35 cycles (hit), preprint".
[[nodiscard]] std::string published_text(const PublishedComparison& beside, const PublishedValue& value);

// For a terminal: values that agree, values that differ, and values without published figures.
[[nodiscard]] std::string to_published(const Topology& topology, const TerminalStyle& style);

}  // namespace gputopo::report
