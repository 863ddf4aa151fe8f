// The host's NUMA nodes, from sysfs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/links.h"

namespace gputopo::node {

// Those with memory, by their ids; one of all CPUs where the system has no such notion. `root`: sysfs_root().
[[nodiscard]] std::vector<NumaNode> read_numa_nodes(const std::string& root);
// Adds what sysfs says of where a GPU is: near which node and CPUs, and behind which PCIe link. `told_numa_id`: the
// node by the driver, where sysfs has none.
void read_place(const std::string& root, const std::vector<NumaNode>& numa_nodes,
                std::optional<std::uint32_t> told_numa_id, NodeGpu& gpu);

}  // namespace gputopo::node
