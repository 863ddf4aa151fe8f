// Facts about the host for a report's header.
#pragma once

#include <string>

namespace gputopo {

[[nodiscard]] std::string host_cpu();   // model name from /proc/cpuinfo; empty if unknown
[[nodiscard]] std::string host_os();    // "Linux 6.1.0 x86_64"
[[nodiscard]] std::string host_name();  // empty if unknown
// Constant for this installation of the system, and reveals nothing else; empty if unknown.
[[nodiscard]] std::string anonymous_host_id();
[[nodiscard]] std::string utc_timestamp();  // ISO 8601

}  // namespace gputopo
