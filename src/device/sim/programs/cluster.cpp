#include "device/sim/programs/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "device/sim/machine/random.h"
#include "device/sim/programs/access.h"

namespace gputopo::sim {
namespace {

// Loads that a warp has in flight, as in the kernels for real GPUs.
constexpr double kLoadsInFlight = 4;

const ClusterSpec& clusters_of(const MachineSpec& spec) {
  if (!spec.clusters) refuse_silent(spec, "clusters", "block clusters");
  return *spec.clusters;
}

// Returns the SMs of all clusters that fit, cluster by cluster. In each group they begin at a random TPC.
std::vector<std::vector<std::uint32_t>> place_clusters(const MachineSpec& spec, std::uint32_t size,
                                                       std::uint64_t seed) {
  std::vector<std::vector<std::uint32_t>> groups = spec.sm_groups;
  if (size == 1) {  // no cluster: a block on each SM
    groups.assign(1, std::vector<std::uint32_t>(spec.info.sm_count));
    std::iota(groups[0].begin(), groups[0].end(), 0u);
  }
  RandomSource random(seed);
  std::vector<std::vector<std::uint32_t>> clusters;
  for (std::vector<std::uint32_t>& group : groups) {
    const std::size_t tpcs = (group.size() + spec.sms_per_tpc - 1) / spec.sms_per_tpc;
    const std::size_t first = size == 1 ? 0 : random.next() % tpcs * spec.sms_per_tpc;
    std::rotate(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(first), group.end());
    for (std::size_t i = 0; i + size <= group.size(); i += size) {
      const auto begin = group.begin() + static_cast<std::ptrdiff_t>(i);
      clusters.emplace_back(begin, begin + size);
    }
  }
  return clusters;
}

std::uint32_t largest_cluster(const MachineSpec& spec) {
  if (!spec.clusters) return 1;
  std::size_t largest = 1;
  for (const std::vector<std::uint32_t>& group : spec.sm_groups) largest = std::max(largest, group.size());
  return std::min(spec.clusters->max_size, static_cast<std::uint32_t>(largest));
}

// Cycles from one load of each warp of a block to the next.
double read_cycles(const MachineSpec& spec, const ClusterProgram& program, const std::vector<std::uint32_t>& sms,
                   std::size_t blocks, double clock_mhz) {
  const auto bytes = static_cast<double>(cluster_access_bytes(program));
  double bytes_per_second =
      cluster_bytes_per_second(clusters_of(spec), program.cluster_size) / static_cast<double>(blocks);
  if (program.hop == 0) {
    const auto shared = spec.bandwidths.find(kSharedLevel);
    if (shared == spec.bandwidths.end()) refuse_silent(spec, "bandwidths.shared", "the bandwidth of this level");
    bytes_per_second = shared->second.read_bytes_per_second / spec.info.sm_count;
  }
  const double bytes_per_cycle = bytes_per_second / (clock_mhz * 1e6);
  const double latency = cluster_latency_cycles(spec, sms[0], sms[program.hop]);
  return std::max(bytes / bytes_per_cycle, latency / kLoadsInFlight);
}

// Cycles from the issue of one copy of a block to the issue of the next.
double copy_cycles(const MachineSpec& spec, const ClusterProgram& program, std::uint64_t carve_out_bytes,
                   std::size_t blocks, double clock_mhz) {
  if (!spec.bulk_copies) refuse_silent(spec, "bulk_copies", "the cost of bulk copies");
  const BulkCopySpec& bulk = *spec.bulk_copies;
  const Level level = level_of(spec, Space::kGlobalBypassL1, program.bytes, carve_out_bytes);
  // Data from that level passes the caches in front of it.
  std::vector<std::string> passed;
  for (const PathStop& stop : spec.spaces.at(Space::kGlobalBypassL1).path) {
    passed.push_back(stop.cache);
    if (stop.cache == level.name) break;
  }
  if (level.name == kMemoryLevel) passed.emplace_back(kMemoryLevel);
  double level_bytes_per_cycle = std::numeric_limits<double>::infinity();
  for (const std::string& name : passed) {
    const auto bandwidth = spec.bandwidths.find(name);
    if (bandwidth == spec.bandwidths.end()) refuse_silent(spec, "bandwidths." + name, "the bandwidth of this level");
    level_bytes_per_cycle =
        std::min(level_bytes_per_cycle, bandwidth->second.read_bytes_per_second / (clock_mhz * 1e6));
  }
  const double transfer = program.copy_bytes / bulk.bytes_per_cycle;
  const double latency = level.latency_cycles + bulk.overhead_cycles + transfer;
  return std::max({latency / program.in_flight, transfer, bulk.issue_cycles,
                   program.copy_bytes * static_cast<double>(blocks) / level_bytes_per_cycle});
}

}  // namespace

double cluster_latency_cycles(const MachineSpec& spec, std::uint32_t reader, std::uint32_t target) {
  const ClusterSpec& clusters = clusters_of(spec);
  if (reader == target) return spec.spaces.at(Space::kShared).memory_latency_cycles;
  if (reader / spec.sms_per_tpc == target / spec.sms_per_tpc) return clusters.latency_cycles;
  RandomSource pair(derive_seed(reader, target));
  const double place = 2 * pair.unit() - 1;
  return clusters.latency_cycles + clusters.other_tpc_cycles + clusters.spread_cycles * place;
}

double cluster_bytes_per_second(const ClusterSpec& clusters, std::uint32_t cluster_size) {
  double found = 0;
  for (const ClusterBandwidth& row : clusters.bandwidths) {
    if (found == 0 || row.cluster_size <= cluster_size) found = row.read_bytes_per_second;
  }
  return found;
}

void require_cluster(const MachineSpec& spec, std::uint32_t cluster_size) {
  if (cluster_size == 0 || cluster_size <= clusters_of(spec).max_size) return;
  throw NotSupportedError(
      fmt::format("{} launches clusters of at most {} blocks", spec.info.name, clusters_of(spec).max_size));
}

ClusterResult simulate_cluster(const MachineSpec& spec, const ClusterProgram& program, std::uint64_t carve_out_bytes,
                               double clock_mhz, std::uint64_t seed, Noise& noise) {
  if (program.op != ClusterOp::kBulkCopy) require_cluster(spec, program.cluster_size);
  std::vector<std::vector<std::uint32_t>> clusters = place_clusters(spec, program.cluster_size, seed);
  if (clusters.empty()) {
    throw NotSupportedError(
        fmt::format("{} has no SM group large enough for a cluster of {} blocks, each on its own SM", spec.info.name,
                    program.cluster_size));
  }
  ClusterResult result{.clusters_at_once = static_cast<std::uint32_t>(clusters.size()),
                       .largest_cluster = largest_cluster(spec)};
  if (!program.every_sm) clusters.resize(1);
  const std::size_t blocks = clusters.size() * program.cluster_size;
  // Accesses that keep an SM's link busy vary as bandwidths do; dependent accesses vary as latencies do.
  const bool is_stream = program.op == ClusterOp::kRead || program.in_flight > 1;
  const double factor = is_stream ? noise.bandwidth_factor() : 1;
  for (const std::vector<std::uint32_t>& sms : clusters) {
    result.sms.insert(result.sms.end(), sms.begin(), sms.end());
    double cycles = 0;
    switch (program.op) {
      case ClusterOp::kChase:
        cycles = cluster_latency_cycles(spec, sms[program.reader],
                                        sms[(program.reader + program.hop) % program.cluster_size]);
        break;
      case ClusterOp::kRead:
        cycles = read_cycles(spec, program, sms, blocks, clock_mhz);
        break;
      case ClusterOp::kBulkCopy:
        cycles = copy_cycles(spec, program, carve_out_bytes, blocks, clock_mhz);
        break;
    }
    StepBehaviour chain(program.accesses);
    chain.classes.push_back({cycles, false, program.accesses});
    const double total = is_stream ? cycles * program.accesses / factor : std::max(1.0, noise.total_cycles(chain));
    result.cycles.push_back(total / program.accesses);
    result.seconds = std::max(result.seconds, total / (clock_mhz * 1e6));
  }
  const std::size_t readers = program.op == ClusterOp::kChase ? clusters.size() : blocks;
  result.bytes_moved = readers * program.accesses * cluster_access_bytes(program);
  return result;
}

}  // namespace gputopo::sim
