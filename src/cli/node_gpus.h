// The reports of a node's GPUs, each made by a process of its own: what one GPU does to its process, or a driver's call
// that does not come back, costs no other.
#pragma once

#include <atomic>
#include <vector>

#include "cli/options.h"
#include "gputopo/node.h"

namespace gputopo::cli {

// One for each GPU of the node, in order.
[[nodiscard]] std::vector<NodeGpuReport> measure_gpus(const Options& options, const NodeInfo& info,
                                                      const std::atomic<bool>& interrupted);

}  // namespace gputopo::cli
