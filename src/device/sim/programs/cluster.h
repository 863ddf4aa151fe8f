// Clusters and bulk copies on a simulated machine: the SMs of each cluster, and formulas for what its blocks do.
#pragma once

#include "device/sim/machine/machine.h"
#include "device/sim/memory/noise.h"

namespace gputopo::sim {

// `seed` decides where clusters begin within their groups. Throws NotSupportedError if the cluster does not fit or the
// machine file lacks something, which it names.
[[nodiscard]] ClusterResult simulate_cluster(const MachineSpec& spec, const ClusterProgram& program,
                                             std::uint64_t carve_out_bytes, double clock_mhz, std::uint64_t seed,
                                             Noise& noise);

// Throws NotSupportedError if the machine launches no clusters of that many blocks. 0 blocks: no cluster.
void require_cluster(const MachineSpec& spec, std::uint32_t cluster_size);
// Load-to-use latency of SM `target`'s shared memory for SM `reader` of the same cluster.
[[nodiscard]] double cluster_latency_cycles(const MachineSpec& spec, std::uint32_t reader, std::uint32_t target);

// Bandwidth of all SMs together that read from one another in clusters of this size.
[[nodiscard]] double cluster_bytes_per_second(const ClusterSpec& clusters, std::uint32_t cluster_size);

}  // namespace gputopo::sim
