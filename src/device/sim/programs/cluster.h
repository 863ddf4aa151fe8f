// Clusters and bulk copies on a simulated machine: which SMs a cluster gets, and formulas for what its blocks do.
#pragma once

#include "device/sim/machine/machine.h"
#include "device/sim/memory/noise.h"

namespace gputopo::sim {

// `seed` decides where clusters begin within their groups. Throws NotSupportedError for a cluster that does not fit,
// and names what the machine's description lacks.
[[nodiscard]] ClusterResult simulate_cluster(const MachineSpec& spec, const ClusterProgram& program,
                                             std::uint64_t carve_out_bytes, double clock_mhz, std::uint64_t seed,
                                             Noise& noise);

// Throws NotSupportedError for a cluster of more blocks than the machine launches; of 0 blocks: no cluster.
void require_cluster(const MachineSpec& spec, std::uint32_t cluster_size);
// Load-to-use latency of the shared memory of SM `target` for SM `reader` of the same cluster.
[[nodiscard]] double cluster_latency_cycles(const MachineSpec& spec, std::uint32_t reader, std::uint32_t target);

// Of all SMs that read from one another in clusters of this size.
[[nodiscard]] double cluster_bytes_per_second(const ClusterSpec& clusters, std::uint32_t cluster_size);

}  // namespace gputopo::sim
