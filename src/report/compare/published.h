// What papers, vendors and other tools have published of a GPU, beside what a report measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"
#include "gputopo/report.h"

namespace gputopo::report {

// published/published.json, in the binary.
extern const std::string_view kPublishedJson;

struct PublishedValue {
  double value = 0;
  std::string condition;  // under which it holds; empty where the source tells none
  std::string kind;       // "vendor doc", "peer reviewed", "preprint", "tool measured", "article"
  std::string source;
  bool agrees = false;             // lies within the interval of the report's value, or near it
  std::optional<double> relative;  // of it to the report's: 0.1 is a tenth more
};

// One value of the report, and what others say of it: nothing, where nobody does.
struct PublishedBeside {
  std::string group;  // as ValueGroup::id
  std::string title;
  std::string attribute;
  const Attribute* own = nullptr;
  std::vector<PublishedValue> values;
  [[nodiscard]] bool agrees() const;  // with one of them
};

// Of each number of the report that is no condition of the run; points into the report. Empty where nothing was
// published of a GPU of this name.
[[nodiscard]] std::vector<PublishedBeside> published_beside(const Topology& topology);

// The value with its unit, the kind of its source and whether it agrees: "differs by +11%: 35 cycles (hit), preprint".
[[nodiscard]] std::string published_text(const PublishedBeside& beside, const PublishedValue& value);

// For a terminal: what agrees, what differs, of what nobody said anything.
[[nodiscard]] std::string to_published(const Topology& topology, const TerminalStyle& style);

}  // namespace gputopo::report
