// The section "timing" of the JSON document.
#pragma once

#include <nlohmann/json.hpp>

#include "gputopo/model.h"
#include "report/json/node.h"

namespace gputopo::report {

[[nodiscard]] nlohmann::ordered_json timing_json(const Topology& topology);
// Throws a FormatError.
void read_timing(const Node& timing, Topology& topology);

}  // namespace gputopo::report
