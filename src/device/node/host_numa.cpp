#include "device/node/host_numa.h"

#include <algorithm>
#include <charconv>

#include "device/driver/sysfs.h"
#include "file/folder_entries.h"
#include "file/limits.h"

namespace gputopo::node {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<NumaNode> read_numa_nodes(const std::string& root) {
  constexpr std::string_view kPrefix = "node";
  std::vector<NumaNode> nodes;
  for (const fs::path& entry : folder_entries(fs::path(root) / "devices/system/node")) {
    const std::string name = entry.filename().string();
    if (!name.starts_with(kPrefix) || nodes.size() == limits::kMaxNumaNodes) continue;
    const std::optional<std::uint32_t> id = number_in(std::string_view(name).substr(kPrefix.size()));
    if (!id) continue;
    NumaNode node{.id = *id,
                  .cpus = read_line(entry / "cpulist").value_or(""),
                  .memory_bytes = read_meminfo(entry / "meminfo", "MemTotal:")};
    if (node.memory_bytes.value_or(1) > 0) nodes.push_back(std::move(node));
  }
  std::ranges::sort(nodes, {}, &NumaNode::id);
  if (nodes.empty()) {
    nodes.push_back({.id = 0, .cpus = read_line(fs::path(root) / "devices/system/cpu/online").value_or("")});
  }
  return nodes;
}

void read_place(const std::string& root, const std::vector<NumaNode>& numa_nodes,
                std::optional<std::uint32_t> told_numa_id, NodeGpu& gpu) {
  if (gpu.pci_address.empty()) return;
  gpu.pci_link = read_pci_link(root, gpu.pci_address);
  gpu.cpus = read_pci_attribute(root, gpu.pci_address, "local_cpulist").value_or("");
  std::optional<std::uint32_t> id =
      number_in(read_pci_attribute(root, gpu.pci_address, "numa_node").value_or(""));  // -1: unknown
  if (!id) id = told_numa_id;
  const auto found = std::ranges::find_if(numa_nodes, [&](const NumaNode& node) { return id && node.id == *id; });
  if (found != numa_nodes.end()) gpu.numa_node = static_cast<std::uint32_t>(found - numa_nodes.begin());
  if (numa_nodes.size() == 1) gpu.numa_node = 0;
}

}  // namespace gputopo::node
