// What the host is: for the report's header.
#pragma once

#include <string>

namespace gputopo {

[[nodiscard]] std::string host_cpu();   // model name from /proc/cpuinfo; empty when unknown
[[nodiscard]] std::string host_os();    // "Linux 6.1.0 x86_64"
[[nodiscard]] std::string host_name();  // empty when unknown
// The same for this installation of the system every time, and nothing else is to be read from it; empty when unknown.
[[nodiscard]] std::string anonymous_host_id();
[[nodiscard]] std::string utc_timestamp();  // ISO 8601

}  // namespace gputopo
