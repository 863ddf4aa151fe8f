#include "device/node/host_numa.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "device/sysfs.h"
#include "file/limits.h"

namespace gputopo::node {
namespace {

namespace fs = std::filesystem;

// "Node 0 MemTotal:       131859088 kB"
std::optional<std::uint64_t> memory_of(const fs::path& node) {
  std::ifstream file(node / "meminfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t label = line.find("MemTotal:");
    if (label == std::string::npos) continue;
    const std::size_t digits = line.find_first_of("0123456789", label);
    std::uint64_t kib = 0;
    if (digits == std::string::npos) return std::nullopt;
    const auto [end, status] = std::from_chars(line.data() + digits, line.data() + line.size(), kib);
    if (status != std::errc{} || kib > limits::kMaxDeviceBytes >> 10) return std::nullopt;
    return kib << 10;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<NumaNode> read_numa_nodes(const std::string& root) {
  constexpr std::string_view kPrefix = "node";
  std::vector<NumaNode> nodes;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(root) / "devices/system/node", ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || nodes.size() == limits::kMaxNumaNodes) continue;
    const std::optional<std::uint32_t> id = number_in(std::string_view(name).substr(kPrefix.size()));
    if (!id) continue;
    NumaNode node{
        .id = *id, .cpus = read_line(entry.path() / "cpulist").value_or(""), .memory_bytes = memory_of(entry.path())};
    if (node.memory_bytes.value_or(1) > 0) nodes.push_back(std::move(node));
  }
  std::ranges::sort(nodes, {}, &NumaNode::id);
  if (nodes.empty()) {
    nodes.push_back({.id = 0, .cpus = read_line(fs::path(root) / "devices/system/cpu/online").value_or("")});
  }
  return nodes;
}

void read_place(const std::string& root, const std::vector<NumaNode>& numa_nodes, NodeGpu& gpu) {
  if (gpu.pci_address.empty()) return;
  gpu.pci_link = read_pci_link(root, gpu.pci_address);
  gpu.cpus = read_pci_attribute(root, gpu.pci_address, "local_cpulist").value_or("");
  const std::optional<std::uint32_t> id =
      number_in(read_pci_attribute(root, gpu.pci_address, "numa_node").value_or(""));  // -1: it does not tell
  const auto found = std::ranges::find_if(numa_nodes, [&](const NumaNode& node) { return id && node.id == *id; });
  if (found != numa_nodes.end()) gpu.numa_node = static_cast<std::uint32_t>(found - numa_nodes.begin());
  if (numa_nodes.size() == 1) gpu.numa_node = 0;
}

}  // namespace gputopo::node
