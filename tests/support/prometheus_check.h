// Whether a text is what a collector of Prometheus' text format takes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace gputopo::test {

// The first line that a collector would refuse, nothing if it takes all of them: a name with other characters than a
// name has, an unknown escape or a quote in a label, a sample twice, the samples of a metric not together.
[[nodiscard]] std::optional<std::string> prometheus_problem(std::string_view text);

}  // namespace gputopo::test
