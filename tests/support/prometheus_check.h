// Checks a text against Prometheus' text format.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace gputopo::test {

// The first line that a collector would refuse, or nothing: an invalid name, an unknown escape or bare quote in a
// label, a duplicate sample, or samples of one metric that are not together.
[[nodiscard]] std::optional<std::string> prometheus_problem(std::string_view text);

}  // namespace gputopo::test
