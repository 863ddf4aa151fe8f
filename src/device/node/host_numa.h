// The host's NUMA nodes, from sysfs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/links.h"

namespace gputopo::node {

// Returns the nodes with memory, by id, or one node of all CPUs if the system has no NUMA nodes. `root`: sysfs_root().
[[nodiscard]] std::vector<NumaNode> read_numa_nodes(const std::string& root);
// Adds what sysfs knows of a GPU's place: the near node and CPUs, and its PCIe link. `told_numa_id`: the driver's
// answer, used if sysfs has none.
void read_place(const std::string& root, const std::vector<NumaNode>& numa_nodes,
                std::optional<std::uint32_t> told_numa_id, NodeGpu& gpu);

}  // namespace gputopo::node
