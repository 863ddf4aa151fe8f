// The reports that callers have.
#pragma once

#include <memory>

#include "gputopo/gputopo.h"
#include "gputopo/model.h"

namespace gputopo::library {

// A number that only looks like a pointer, and is given once: what was freed, or never was a report, is found out
// without reading it.
[[nodiscard]] gputopo_report* add_report(std::shared_ptr<const Topology> topology);

// Null: there is no such report. Who has it may go on with it while another thread frees the handle.
[[nodiscard]] std::shared_ptr<const Topology> find_report(const gputopo_report* handle);

void remove_report(const gputopo_report* handle);

}  // namespace gputopo::library
