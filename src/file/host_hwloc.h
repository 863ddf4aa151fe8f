// What hwloc knows of the host.
#pragma once

#include <string>

namespace gputopo {

// Its XML of this host, of version 2; empty where its library (libhwloc.so.15) is not there or fails.
[[nodiscard]] std::string host_hwloc_xml();

}  // namespace gputopo
