// A section of an HTML report that summarizes published figures of its GPU.
#pragma once

#include "gputopo/model.h"
#include "report/html/parts.h"

namespace gputopo::report {

// Counts values with agreeing figures and values without figures. Empty for a GPU without known published figures.
[[nodiscard]] Section published_section(const Topology& topology);

}  // namespace gputopo::report
