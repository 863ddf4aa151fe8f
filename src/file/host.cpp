#include "file/host.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>
#include <fstream>

#include "file/digest.h"

namespace gputopo {

std::string host_cpu() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

std::string host_os() {
  utsname name{};
  if (uname(&name) != 0) return {};
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

std::string host_name() {
  utsname name{};
  return uname(&name) == 0 ? name.nodename : "";
}

// machine-id(5) asks programs not to disclose it directly.
std::string anonymous_host_id() {
  std::ifstream file("/etc/machine-id");
  std::string text;
  if (!std::getline(file, text) || text.empty()) text = host_name();
  return text.empty() ? "" : digest("gputopo host " + text);
}

std::string utc_timestamp() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace gputopo
