// What others have published of the GPU of a report, summed up, as a section of an HTML report.
#pragma once

#include "gputopo/model.h"
#include "report/html/parts.h"

namespace gputopo::report {

// How many values agree with one that was published, and those of which none is known. Empty where nothing is known to
// be published of a GPU of this name.
[[nodiscard]] Section published_section(const Topology& topology);

}  // namespace gputopo::report
