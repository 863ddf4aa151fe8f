// hwloc's view of the host.
#pragma once

#include <string>

namespace gputopo {

// XML (version 2) of this host; empty if the library libhwloc.so.15 is missing or fails.
[[nodiscard]] std::string host_hwloc_xml();

}  // namespace gputopo
