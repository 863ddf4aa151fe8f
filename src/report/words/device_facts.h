// Texts about a whole report: its device and when it was measured.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// "SIMULATED NVIDIA H200": the name for one-line outputs.
[[nodiscard]] std::string device_title(const Topology& topology);
// Returns the time of the measurement, or a text that says it is unknown: a recording may lack it.
[[nodiscard]] std::string when(const Topology& topology);

// Returns the facts that readers want first, after the name. `is_brief` omits the host of a recording.
[[nodiscard]] std::vector<std::string> device_facts(const Topology& topology, bool is_brief = false);

}  // namespace gputopo::report
