// The reports that callers hold.
#pragma once

#include <memory>

#include "gputopo/gputopo.h"
#include "gputopo/model.h"

namespace gputopo::library {

// A handle is a number, not a pointer, and is never reused, so an invalid one is detected without reading memory.
[[nodiscard]] gputopo_report* add_report(std::shared_ptr<const Topology> topology);

// Null if there is no such report. The holder may keep using the report while another thread frees the handle.
[[nodiscard]] std::shared_ptr<const Topology> find_report(const gputopo_report* handle);

void remove_report(const gputopo_report* handle);

}  // namespace gputopo::library
