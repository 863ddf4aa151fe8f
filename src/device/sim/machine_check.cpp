#include "device/sim/machine_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "device/driver/info_check.h"
#include "device/sim/cache_check.h"
#include "device/sim/machine/check_code.h"
#include "device/sim/machine/machine.h"
#include "device/sim/machine/rules.h"
#include "device/sim/memory/hierarchy.h"
#include "file/limits.h"

namespace gputopo::sim {
namespace {

using limits::kMaxLines;
using limits::kMaxPageBytes;

void check_groups(const MachineSpec& spec) {
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < spec.sm_groups.size(); ++i) {
    const std::string field = fmt::format("sm_groups[{}]", i);
    require(!spec.sm_groups[i].empty(), field, "must name at least one SM");
    for (const std::uint32_t sm : spec.sm_groups[i]) {
      require(sm < spec.info.sm_count, field, "there is no SM {}; the GPU has {} SMs, numbered from 0", sm,
              spec.info.sm_count);
      require(seen.insert(sm).second, field, "SM {} is listed twice", sm);
      const std::uint32_t sms_per_die = spec.info.sm_count / spec.info.xcd_count.value_or(1);
      require(sm / sms_per_die == spec.sm_groups[i].front() / sms_per_die, field, "SMs {} and {} are on different dies",
              spec.sm_groups[i].front(), sm);
    }
  }
  require(spec.sm_groups.empty() || seen.size() == spec.info.sm_count, "sm_groups",
          "names {} of the {} SMs; it must name all of them", seen.size(), spec.info.sm_count);
}

void check_space(const MachineSpec& spec, Space space, const SpaceSpec& space_spec) {
  const std::string field = fmt::format("spaces.{}", to_string(space));
  require(space != Space::kShared || space_spec.path.empty(), field + ".path", "must be empty for shared memory");
  double latency = 0;
  bool left_the_sm = false;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < space_spec.path.size(); ++i) {
    const PathStop& stop = space_spec.path[i];
    const std::string stop_field = fmt::format("{}.path[{}]", field, i);
    const CacheSpec& cache = require_cache(spec, stop.cache, stop_field + ".cache");
    require(seen.insert(stop.cache).second, stop_field + ".cache", "'{}' appears twice on this path",
            shown(stop.cache));
    require(!left_the_sm || is_behind_sms(cache.scope), stop_field + ".cache",
            "'{}' belongs to an SM and cannot follow a cache of the whole GPU", shown(stop.cache));
    left_the_sm = is_behind_sms(cache.scope);
    require_positive(stop.latency_cycles, stop_field + ".latency_cycles");
    require(stop.latency_cycles >= latency, stop_field + ".latency_cycles",
            "{} is less than the latency of the previous cache of the path ({})", stop.latency_cycles, latency);
    latency = stop.latency_cycles;
    if (cache.partitions == 1) {
      require(stop.far_latency_cycles == 0, stop_field + ".far_latency_cycles", "must be 0: '{}' has one partition",
              shown(stop.cache));
      continue;
    }
    require(std::isfinite(stop.far_latency_cycles) && stop.far_latency_cycles >= latency,
            stop_field + ".far_latency_cycles", "{} is less than the near latency {}", stop.far_latency_cycles,
            latency);
    latency = stop.far_latency_cycles;
  }
  require_positive(space_spec.memory_latency_cycles, field + ".memory_latency_cycles");
  require_not_negative(space_spec.far_memory_latency_cycles, field + ".far_memory_latency_cycles");
  require_not_negative(space_spec.address_cycles, field + ".address_cycles");
  const double far_memory = space_spec.far_memory_latency_cycles;
  require(far_memory == 0 || far_memory >= space_spec.memory_latency_cycles, field + ".far_memory_latency_cycles",
          "{} is less than the latency of near memory ({})", far_memory, space_spec.memory_latency_cycles);
  require(space_spec.memory_latency_cycles >= latency, field + ".memory_latency_cycles",
          "{} is less than the latency of the last cache of the path ({})", space_spec.memory_latency_cycles, latency);
}

void check_tlb_sets(const TlbSpec& tlb, const std::string& field) {
  require(tlb.ways == 0 || tlb.entries % tlb.ways == 0, field + ".ways",
          "{} entries cannot be divided into sets of {} ways", tlb.entries, tlb.ways);
  if (tlb.set_ways.empty()) return;
  require(std::ranges::find(tlb.set_ways, 0u) == tlb.set_ways.end(), field + ".set_ways",
          "a set must have at least one way");
  const std::uint64_t listed = std::accumulate(tlb.set_ways.begin(), tlb.set_ways.end(), std::uint64_t{0});
  require(listed == tlb.entries, field + ".set_ways", "the sets have {} ways in total, but entries is {}", listed,
          tlb.entries);
}

void check_tlb(const MachineSpec& spec, const TlbSpec& tlb, const std::string& field) {
  check_scope(spec, tlb.scope, field + ".scope");
  require_power_of_two(tlb.page_bytes, field + ".page_bytes", kLargestLineBytes, kMaxPageBytes);
  require(tlb.entries >= 1 && tlb.entries <= kMaxLines, field + ".entries", "{} is not between 1 and {}", tlb.entries,
          kMaxLines);
  check_tlb_sets(tlb, field);
  check_geometry(field + ".ways", [&] { return tlb_geometry(tlb); });
  require_not_negative(tlb.miss_cycles, field + ".miss_cycles");
  require_not_negative(tlb.memory_miss_cycles.value_or(0), field + ".memory_miss_cycles");
  require_not_negative(tlb.far_miss_cycles.value_or(0), field + ".far_miss_cycles");
}

void check_tlbs(const MachineSpec& spec, const std::vector<TlbSpec>& tlbs, const std::string& field) {
  require(tlbs.size() <= limits::kMaxLevels, field, "{} levels exceed the maximum of {}", tlbs.size(),
          limits::kMaxLevels);
  for (std::size_t i = 0; i < tlbs.size(); ++i) check_tlb(spec, tlbs[i], fmt::format("{}[{}]", field, i));
}

void check_bandwidths(const MachineSpec& spec) {
  for (const auto& [level, bandwidth] : spec.bandwidths) {
    const std::string field = "bandwidths." + shown(level);
    if (level != kSharedLevel && level != kMemoryLevel) require_cache(spec, level, field);
    require_positive(bandwidth.read_bytes_per_second, field + ".read_bytes_per_second");
    require_not_negative(bandwidth.write_bytes_per_second, field + ".write_bytes_per_second");
    require_not_negative(bandwidth.half_bytes_in_flight, field + ".half_bytes_in_flight");
    require_not_negative(bandwidth.sm_read_bytes_per_second, field + ".sm_read_bytes_per_second");
  }
}

void check_banks(const MachineSpec& spec, const BankSpec& banks) {
  constexpr std::uint32_t kMaxBanks = 1024;
  constexpr std::uint32_t kWidestBankBytes = 64;
  require(spec.spaces.contains(Space::kShared), "banks", "requires the space 'shared', which is missing");
  require_power_of_two(banks.banks, "banks.banks", 1, kMaxBanks);
  require_power_of_two(banks.bank_bytes, "banks.bank_bytes", 4, kWidestBankBytes);
  require_power_of_two(banks.lanes_at_once, "banks.lanes_at_once", 1, spec.info.warp_size);
  const auto require_lanes = [&](std::uint32_t lanes, const std::string& field) {
    if (lanes != 0) require_power_of_two(lanes, field, 1, banks.lanes_at_once);
  };
  require_lanes(banks.lanes_at_once_8_bytes, "banks.lanes_at_once_8_bytes");
  require_lanes(banks.lanes_at_once_16_bytes, "banks.lanes_at_once_16_bytes");
  for (const std::uint32_t mode : banks.modes_bytes) {
    require_power_of_two(mode, "banks.modes_bytes", 4, banks.bank_bytes);
  }
  require_not_negative(banks.conflict_cycles, "banks.conflict_cycles");
  require_not_negative(banks.store_latency_cycles, "banks.store_latency_cycles");
}

void check_atomics(const MachineSpec& spec) {
  for (const auto& [level, atomics] : spec.atomics) {
    const std::string field = "atomics." + level;
    const bool has_far = level != kSharedLevel && require_cache(spec, level, field).partitions > 1;
    require_positive(atomics.latency_cycles, field + ".latency_cycles");
    require(atomics.far_latency_cycles == 0 || has_far, field + ".far_latency_cycles",
            "must be 0 unless the cache has several partitions");
    require(atomics.far_latency_cycles == 0 || atomics.far_latency_cycles >= atomics.latency_cycles,
            field + ".far_latency_cycles", "{} is less than the near latency {}", atomics.far_latency_cycles,
            atomics.latency_cycles);
    require_positive(atomics.lanes_per_cycle, field + ".lanes_per_cycle");
    require_positive(atomics.one_address_latency_cycles, field + ".one_address_latency_cycles");
    require_positive(atomics.one_address_lanes_per_cycle, field + ".one_address_lanes_per_cycle");
  }
}

void check_clusters(const MachineSpec& spec, const ClusterSpec& clusters) {
  require(spec.spaces.contains(Space::kShared), "clusters", "requires the space 'shared', which is missing");
  require(!spec.sm_groups.empty(), "clusters", "requires sm_groups, which is missing");
  require(clusters.max_size >= 1 && clusters.max_size <= kMaxClusterBlocks, "clusters.max_size",
          "{} is not between 1 and {}", clusters.max_size, kMaxClusterBlocks);
  require_positive(clusters.latency_cycles, "clusters.latency_cycles");
  require_not_negative(clusters.other_tpc_cycles, "clusters.other_tpc_cycles");
  require_not_negative(clusters.spread_cycles, "clusters.spread_cycles");
  require(clusters.spread_cycles < clusters.latency_cycles, "clusters.spread_cycles",
          "{} is not less than latency_cycles", clusters.spread_cycles);
  require(!clusters.bandwidths.empty(), "clusters.bandwidths", "must not be empty");
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < clusters.bandwidths.size(); ++i) {
    const std::string field = fmt::format("clusters.bandwidths[{}]", i);
    require(clusters.bandwidths[i].cluster_size > size, field + ".cluster_size",
            "must be larger than in the previous entry");
    size = clusters.bandwidths[i].cluster_size;
    require_positive(clusters.bandwidths[i].read_bytes_per_second, field + ".read_bytes_per_second");
  }
}

void check_bulk_copies(const MachineSpec& spec, const BulkCopySpec& bulk) {
  require(spec.spaces.contains(Space::kGlobalBypassL1), "bulk_copies",
          "requires the space 'global_bypass_l1', which is missing");
  require_not_negative(bulk.overhead_cycles, "bulk_copies.overhead_cycles");
  require_positive(bulk.issue_cycles, "bulk_copies.issue_cycles");
  require_positive(bulk.bytes_per_cycle, "bulk_copies.bytes_per_cycle");
}

void check_compute(const ComputeSpec& compute) {
  constexpr std::uint32_t kMostSchedulers = 64;
  require(compute.schedulers >= 1 && compute.schedulers <= kMostSchedulers, "compute.schedulers",
          "{} is not between 1 and {}", compute.schedulers, kMostSchedulers);
  require_positive(compute.issue_cycles, "compute.issue_cycles");
  require_overhead(compute.loop_cycles, "compute.loop_cycles");
  require(compute.instruction_bytes >= 1, "compute.instruction_bytes", "must be at least 1");
  for (const auto& [name, pipe] : compute.pipes) {
    require_short(name, "compute.pipes");
    require_positive(pipe.lanes_per_cycle, fmt::format("compute.pipes.{}.lanes_per_cycle", shown(name)));
  }
  for (const auto& [name, operation] : compute.operations) {
    const std::string field = "compute.operations." + shown(name);
    require(find_operation(name) != nullptr, field, "is not a known operation");
    require(compute.pipes.contains(operation.pipe), field + ".pipe", "'{}' is not in compute.pipes",
            shown(operation.pipe));
    require_positive(operation.latency_cycles, field + ".latency_cycles");
    require_not_negative(operation.lanes_per_cycle, field + ".lanes_per_cycle");
    require_positive(operation.instructions, field + ".instructions");
    require_not_negative(operation.block_cycles, field + ".block_cycles");
  }
}

void check_launches(const LaunchSpec& launches) {
  require_positive(launches.latency_ns, "launches.latency_ns");
  require_positive(launches.submit_ns, "launches.submit_ns");
  require_positive(launches.interval_ns, "launches.interval_ns");
  require_positive(launches.graph_latency_ns, "launches.graph_latency_ns");
  require_positive(launches.graph_interval_ns, "launches.graph_interval_ns");
  require_not_negative(launches.argument_byte_ns, "launches.argument_byte_ns");
}

void check_noise(const NoiseSpec& noise) {
  require_not_negative(noise.jitter_cycles, "noise.jitter_cycles");
  require_fraction(noise.outlier_probability, "noise.outlier_probability");
  require_not_negative(noise.outlier_cycles, "noise.outlier_cycles");
  require_fraction(noise.drift_fraction, "noise.drift_fraction");
  require_fraction(noise.interference_probability, "noise.interference_probability");
  require_fraction(noise.bandwidth_sigma, "noise.bandwidth_sigma");
}

void check_neighbour(const NeighbourSpec& neighbour) {
  require_positive(neighbour.turn_cycles, "neighbour.turn_cycles");
  require_positive(neighbour.neighbour_turn_cycles, "neighbour.neighbour_turn_cycles");
  require_positive(neighbour.bandwidth_share, "neighbour.bandwidth_share");
  require_fraction(neighbour.bandwidth_share, "neighbour.bandwidth_share");
}

void check_distances(const MachineSpec& spec) {
  for (std::size_t i = 0; i < spec.tpc_distances_cycles.size(); ++i) {
    require_overhead(spec.tpc_distances_cycles[i], fmt::format("tpc_distances_cycles[{}]", i));
  }
  require(spec.tpc_distances_cycles.size() <= spec.info.sm_count, "tpc_distances_cycles",
          "has {} values, but the GPU has only {} SMs", spec.tpc_distances_cycles.size(), spec.info.sm_count);
}

void check_memory(const MachineSpec& spec) {
  if (!spec.info.memory_bytes) return;
  for (const CacheSpec& cache : spec.caches) {
    require(*spec.info.memory_bytes > cache.size_bytes, "info.memory_bytes",
            "{} is not larger than the size of cache '{}'", *spec.info.memory_bytes, cache.id);
  }
}

}  // namespace

void check_machine(const MachineSpec& spec) {
  require(!spec.info.name.empty(), "info.name", "must not be empty");
  check_info(spec.info, "info");
  check_groups(spec);
  check_caches(spec);
  check_distances(spec);
  check_memory(spec);
  require(!spec.spaces.empty(), "spaces", "must not be empty");
  require(spec.caches.size() <= limits::kMaxLevels, "caches", "{} caches exceed the maximum of {}", spec.caches.size(),
          limits::kMaxLevels);
  for (const auto& [space, space_spec] : spec.spaces) check_space(spec, space, space_spec);
  check_tlbs(spec, spec.tlbs, "tlbs");
  check_tlbs(spec, spec.texture_tlbs, "texture_tlbs");
  if (spec.code) check_code(spec, *spec.code);
  require(spec.sms_per_tpc >= 1, "sms_per_tpc", "must be at least 1");
  check_bandwidths(spec);
  if (spec.banks) check_banks(spec, *spec.banks);
  check_atomics(spec);
  if (spec.clusters) check_clusters(spec, *spec.clusters);
  if (spec.bulk_copies) check_bulk_copies(spec, *spec.bulk_copies);
  if (spec.compute) check_compute(*spec.compute);
  if (spec.launches) check_launches(*spec.launches);
  check_noise(spec.noise);
  if (spec.neighbour) check_neighbour(*spec.neighbour);
  require_overhead(spec.timer_cycles, "timer_cycles");
  require(spec.sm_bytes_per_second >= 0, "sm_bytes_per_second", "{} is negative", spec.sm_bytes_per_second);
  require_overhead(spec.loop_cycles, "loop_cycles");
  if (spec.slices) {
    require(spec.slices->count >= 1, "slices.count", "must be at least 1");
    require_not_negative(spec.slices->partition_cycles, "slices.partition_cycles");
    require_not_negative(spec.slices->position_cycles, "slices.position_cycles");
    require_not_negative(spec.slices->tpc_cycles, "slices.tpc_cycles");
  }
  require(spec.sms_near_first_partition <= spec.info.sm_count, "sms_near_first_partition",
          "{} is more than the {} SMs of the GPU", spec.sms_near_first_partition, spec.info.sm_count);
}

}  // namespace gputopo::sim
