// Decodes the records of a cluster program's blocks and warps into its result. Needs no GPU.
#pragma once

#include <string>
#include <vector>

#include "device/cuda/kernel_layout.h"

namespace gputopo::cuda {

// Throws DeviceError, with the kernel's name, if a chain was lost, a copy did not arrive or blocks started apart.
void check_blocks(const ClusterProgram& program, const std::vector<BlockRecord>& blocks, const std::string& kernel);
// Blocks are ordered by cluster and rank, and so are their warps.
[[nodiscard]] ClusterResult decode(const ClusterProgram& program, const std::vector<BlockRecord>& blocks,
                                   const std::vector<WarpRecord>& warps, double clock_mhz);

}  // namespace gputopo::cuda
