#include "device/driver/host_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "device/driver/sysfs.h"

namespace gputopo {

std::uint64_t host_room_bytes(std::optional<std::uint32_t> numa_node) {
  std::uint64_t least = read_meminfo("/proc/meminfo", "MemAvailable:").value_or(UINT64_MAX);
  if (numa_node) {
    const std::string meminfo = fmt::format("/sys/devices/system/node/node{}/meminfo", *numa_node);
    if (const auto free = read_meminfo(meminfo, "MemFree:")) {
      least = std::min(least, *free + read_meminfo(meminfo, "Inactive(file):").value_or(0));
    }
  }
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t path = line.find("::/");
    if (path == std::string::npos) continue;
    const std::filesystem::path root = "/sys/fs/cgroup";
    for (std::filesystem::path group = root / line.substr(path + 3);; group = group.parent_path()) {
      const auto most = read_number(group / "memory.max");
      const std::uint64_t used = read_number(group / "memory.current").value_or(0);
      if (most) least = std::min(least, *most > used ? *most - used : 0);
      if (group == root || !group.has_relative_path()) break;
    }
  }
  return least;
}

}  // namespace gputopo
