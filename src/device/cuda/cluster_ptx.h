// The kernels that run cluster programs: chases and reads through the shared memory of another block of the cluster
// (distributed shared memory), and asynchronous bulk copies. The timing depends on ptx_phases.h and on these facts:
// - Every block waits for the others of its cluster before it touches their shared memory and before it ends, because a
//   block's shared memory disappears with the block.
// - The block that follows the links also writes them, because they are addresses in its own view of the cluster. They
//   are generic addresses: ld.shared::cluster becomes a generic load too, but computes its address anew each time,
//   which a chase would count.
// - The compiler knows neither where a read begins nor where the working set ends, so it cannot drop a load.
// - A bulk copy reports to a barrier in shared memory (mbarrier). A slot is reused once its copy has arrived.
#pragma once

#include <string>

#include "device/cuda/ptx_target.h"
#include "gputopo/program/cluster.h"

namespace gputopo::cuda {

// The module with the kernels that run cluster programs (ClusterParameters), one for each operation. cluster_target()
// adds the PTX version that these need. It throws NotSupportedError if the device or the driver is too old.
[[nodiscard]] std::string cluster_kernel_name(ClusterOp op);
[[nodiscard]] PtxTarget cluster_target(const PtxTarget& target, int driver_version);
[[nodiscard]] std::string generate_cluster_ptx(const PtxTarget& target);

}  // namespace gputopo::cuda
