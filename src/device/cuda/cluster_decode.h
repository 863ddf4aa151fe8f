// What the blocks and warps of a cluster program's launch left behind, as its result. No GPU is needed.
#pragma once

#include <string>
#include <vector>

#include "device/cuda/kernel_layout.h"

namespace gputopo::cuda {

// Throws DeviceError that names the kernel where a chain was lost, a copy did not arrive or the blocks did not start
// together.
void check_blocks(const ClusterProgram& program, const std::vector<BlockRecord>& blocks, const std::string& kernel);
// The blocks are in order, cluster by cluster and by rank, and so are their warps.
[[nodiscard]] ClusterResult decode(const ClusterProgram& program, const std::vector<BlockRecord>& blocks,
                                   const std::vector<WarpRecord>& warps, double clock_mhz);

}  // namespace gputopo::cuda
