// The common beginning of functions that take a report.
#pragma once

#include <memory>

#include "gputopo/model.h"
#include "library/handles.h"
#include "library/status.h"

namespace gputopo::library {

// Calls `body` with the report, or fails with GPUTOPO_ERROR_ARGUMENT or GPUTOPO_ERROR_HANDLE.
template <typename Body>
int with_report(const char* function, const gputopo_report* handle, const Body& body) noexcept {
  return guarded([&] {
    if (handle == nullptr) return fail_with_null(function, "report");
    const std::shared_ptr<const Topology> topology = find_report(handle);
    if (topology == nullptr) {
      return fail(GPUTOPO_ERROR_HANDLE,
                  "this is not a report: it was freed, or never was one; load a report or discover a device");
    }
    return body(*topology);
  });
}

}  // namespace gputopo::library
