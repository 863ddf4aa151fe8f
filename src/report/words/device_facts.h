// The words about a whole report: which device it is of, and when it was measured.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// "SIMULATED NVIDIA H200": as outputs of one line name it.
[[nodiscard]] std::string device_title(const Topology& topology);
// The time of the measurement, or words that say that nobody knows it: a recording need not tell.
[[nodiscard]] std::string when(const Topology& topology);

// The facts that a reader looks for first, after the name. Everything else is in the attributes. `is_brief`: without
// the host of a recording.
[[nodiscard]] std::vector<std::string> device_facts(const Topology& topology, bool is_brief = false);

}  // namespace gputopo::report
