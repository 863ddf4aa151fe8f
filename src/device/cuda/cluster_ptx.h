// The kernels that run cluster programs: chases and reads through the shared memory of another block of the cluster
// (distributed shared memory), and asynchronous bulk copies. What the timing depends on stands in ptx_phases.h, and:
// - Every block waits for those of its cluster before it touches their shared memory, and before it ends: the shared
//   memory of a block is gone with it.
// - Links are written by who follows them: they are addresses in the reader's own view of the cluster. They are generic
//   addresses, as ld.shared::cluster becomes a generic load too, but one whose address is put together anew each time,
//   which a chase would count.
// - Where a read begins is not known to the compiler, nor where the working set ends, so no load can be left out.
// - A bulk copy reports to a barrier in shared memory (mbarrier). A slot is used again once its copy has arrived.
#pragma once

#include <string>

#include "device/cuda/ptx_target.h"
#include "gputopo/program/cluster.h"

namespace gputopo::cuda {

// The module with the kernels that run cluster programs (ClusterParameters), one for each operation. cluster_target():
// the target with a PTX version that has what they use; throws NotSupportedError where the device or the driver is too
// old.
[[nodiscard]] std::string cluster_kernel_name(ClusterOp op);
[[nodiscard]] PtxTarget cluster_target(const PtxTarget& target, int driver_version);
[[nodiscard]] std::string generate_cluster_ptx(const PtxTarget& target);

}  // namespace gputopo::cuda
