// The fields of a simulated GPU with their names in machine files: one list for readers and writers.
#pragma once

#include <array>
#include <string_view>

#include "device/driver/info_fields.h"
#include "device/sim/machine/machine.h"
#include "program/fields.h"

namespace gputopo {

template <>
inline constexpr std::array<std::string_view, 6> kNames<sim::Replacement>{"lru",  "tree_plru",     "random",
                                                                          "fifo", "segmented_lru", "srrip"};
template <>
inline constexpr std::array<std::string_view, 4> kNames<sim::IndexHash>{"modulo", "xor_fold", "mixed", "turns"};
template <>
inline constexpr std::array<std::string_view, 5> kNames<sim::Scope>{"sm", "tpc", "group", "xcd", "gpu"};
template <>
inline constexpr std::array<std::string_view, 2> kNames<sim::WritePolicy>{"through", "back"};
template <>
inline constexpr std::array<std::string_view, 2> kNames<sim::StoreHit>{"update", "invalidate"};

}  // namespace gputopo

namespace gputopo::sim {

// Whether a machine file must have the field.
enum class Presence : bool { kOptional, kRequired };

// ---- visit_fields(object, visit): calls visit(name, field, presence) for each field ----

template <Is<DeviceInfo> Object, typename Visit>
void visit_fields(Object& info, Visit&& visit) {
  visit_info_fields(info, [&](std::string_view name, auto& field) {
    const bool required = name == "vendor" || name == "name" || name == "sm_count";
    visit(name, field, required ? Presence::kRequired : Presence::kOptional);
  });
}

template <Is<CacheSpec> Object, typename Visit>
void visit_fields(Object& cache, Visit&& visit) {
  visit("id", cache.id, Presence::kRequired);
  visit("size_bytes", cache.size_bytes, Presence::kRequired);
  visit("unified", cache.unified, Presence::kOptional);
  visit("line_bytes", cache.line_bytes, Presence::kRequired);
  visit("sector_bytes", cache.sector_bytes, Presence::kRequired);
  visit("fetch_limits_bytes", cache.fetch_limits_bytes, Presence::kOptional);
  visit("ways", cache.ways, Presence::kOptional);
  visit("set_ways", cache.set_ways, Presence::kOptional);
  visit("replacement", cache.replacement, Presence::kOptional);
  visit("protected_ways", cache.protected_ways, Presence::kOptional);
  visit("victim_weights", cache.victim_weights, Presence::kOptional);
  visit("set_interleave_bytes", cache.set_interleave_bytes, Presence::kOptional);
  visit("index", cache.index, Presence::kOptional);
  visit("scope", cache.scope, Presence::kOptional);
  visit("instances", cache.instances, Presence::kOptional);
  visit("partitions", cache.partitions, Presence::kOptional);
  visit("copies_far_lines", cache.copies_far_lines, Presence::kOptional);
  visit("write_policy", cache.write_policy, Presence::kOptional);
  visit("write_allocate", cache.write_allocate, Presence::kOptional);
  visit("store_hit", cache.store_hit, Presence::kOptional);
}

template <Is<PathStop> Object, typename Visit>
void visit_fields(Object& stop, Visit&& visit) {
  visit("cache", stop.cache, Presence::kRequired);
  visit("latency_cycles", stop.latency_cycles, Presence::kRequired);
  visit("far_latency_cycles", stop.far_latency_cycles, Presence::kOptional);
}

template <Is<SpaceSpec> Object, typename Visit>
void visit_fields(Object& space, Visit&& visit) {
  visit("path", space.path, Presence::kOptional);
  visit("memory_latency_cycles", space.memory_latency_cycles, Presence::kRequired);
  visit("far_memory_latency_cycles", space.far_memory_latency_cycles, Presence::kOptional);
  visit("address_cycles", space.address_cycles, Presence::kOptional);
}

template <Is<CodeStop> Object, typename Visit>
void visit_fields(Object& stop, Visit&& visit) {
  visit("cache", stop.cache, Presence::kRequired);
  visit("cycles_per_instruction", stop.cycles_per_instruction, Presence::kRequired);
  visit("jump_cycles", stop.jump_cycles, Presence::kOptional);
}

template <Is<OperandStop> Object, typename Visit>
void visit_fields(Object& stop, Visit&& visit) {
  visit("cache", stop.cache, Presence::kRequired);
  visit("cycles", stop.cycles, Presence::kRequired);
}

template <Is<CodeSpec> Object, typename Visit>
void visit_fields(Object& code, Visit&& visit) {
  visit("bytes_per_instruction", code.bytes_per_instruction, Presence::kRequired);
  visit("path", code.path, Presence::kRequired);
  visit("memory_cycles_per_instruction", code.memory_cycles_per_instruction, Presence::kRequired);
  visit("memory_jump_cycles", code.memory_jump_cycles, Presence::kOptional);
  visit("fetch_bytes", code.fetch_bytes, Presence::kOptional);
  visit("fetch_cycles", code.fetch_cycles, Presence::kOptional);
  visit("operand_path", code.operand_path, Presence::kOptional);
  visit("pass_constants", code.pass_constants, Presence::kOptional);
  visit("memory_operand_cycles", code.memory_operand_cycles, Presence::kOptional);
  visit("loop_cycles", code.loop_cycles, Presence::kOptional);
}

template <Is<TlbSpec> Object, typename Visit>
void visit_fields(Object& tlb, Visit&& visit) {
  visit("page_bytes", tlb.page_bytes, Presence::kRequired);
  visit("entries", tlb.entries, Presence::kRequired);
  visit("ways", tlb.ways, Presence::kOptional);
  visit("set_ways", tlb.set_ways, Presence::kOptional);
  visit("index", tlb.index, Presence::kOptional);
  visit("scope", tlb.scope, Presence::kOptional);
  visit("miss_cycles", tlb.miss_cycles, Presence::kRequired);
  visit("memory_miss_cycles", tlb.memory_miss_cycles, Presence::kOptional);
  visit("far_miss_cycles", tlb.far_miss_cycles, Presence::kOptional);
}

template <Is<BandwidthSpec> Object, typename Visit>
void visit_fields(Object& bandwidth, Visit&& visit) {
  visit("read_bytes_per_second", bandwidth.read_bytes_per_second, Presence::kRequired);
  visit("write_bytes_per_second", bandwidth.write_bytes_per_second, Presence::kOptional);
  visit("half_bytes_in_flight", bandwidth.half_bytes_in_flight, Presence::kOptional);
  visit("sm_read_bytes_per_second", bandwidth.sm_read_bytes_per_second, Presence::kOptional);
}

template <Is<BankSpec> Object, typename Visit>
void visit_fields(Object& banks, Visit&& visit) {
  visit("banks", banks.banks, Presence::kRequired);
  visit("bank_bytes", banks.bank_bytes, Presence::kRequired);
  visit("lanes_at_once", banks.lanes_at_once, Presence::kOptional);
  visit("lanes_at_once_8_bytes", banks.lanes_at_once_8_bytes, Presence::kOptional);
  visit("lanes_at_once_16_bytes", banks.lanes_at_once_16_bytes, Presence::kOptional);
  visit("modes_bytes", banks.modes_bytes, Presence::kOptional);
  visit("conflict_cycles", banks.conflict_cycles, Presence::kRequired);
  visit("store_latency_cycles", banks.store_latency_cycles, Presence::kOptional);
}

template <Is<AtomicSpec> Object, typename Visit>
void visit_fields(Object& atomics, Visit&& visit) {
  visit("latency_cycles", atomics.latency_cycles, Presence::kRequired);
  visit("far_latency_cycles", atomics.far_latency_cycles, Presence::kOptional);
  visit("one_address_latency_cycles", atomics.one_address_latency_cycles, Presence::kRequired);
  visit("lanes_per_cycle", atomics.lanes_per_cycle, Presence::kRequired);
  visit("one_address_lanes_per_cycle", atomics.one_address_lanes_per_cycle, Presence::kRequired);
}

template <Is<ClusterBandwidth> Object, typename Visit>
void visit_fields(Object& bandwidth, Visit&& visit) {
  visit("cluster_size", bandwidth.cluster_size, Presence::kRequired);
  visit("read_bytes_per_second", bandwidth.read_bytes_per_second, Presence::kRequired);
}

template <Is<ClusterSpec> Object, typename Visit>
void visit_fields(Object& clusters, Visit&& visit) {
  visit("max_size", clusters.max_size, Presence::kRequired);
  visit("latency_cycles", clusters.latency_cycles, Presence::kRequired);
  visit("other_tpc_cycles", clusters.other_tpc_cycles, Presence::kOptional);
  visit("spread_cycles", clusters.spread_cycles, Presence::kOptional);
  visit("bandwidths", clusters.bandwidths, Presence::kRequired);
}

template <Is<BulkCopySpec> Object, typename Visit>
void visit_fields(Object& bulk, Visit&& visit) {
  visit("overhead_cycles", bulk.overhead_cycles, Presence::kRequired);
  visit("issue_cycles", bulk.issue_cycles, Presence::kRequired);
  visit("bytes_per_cycle", bulk.bytes_per_cycle, Presence::kRequired);
}

template <Is<PipeSpec> Object, typename Visit>
void visit_fields(Object& pipe, Visit&& visit) {
  visit("lanes_per_cycle", pipe.lanes_per_cycle, Presence::kRequired);
}

template <Is<OperationSpec> Object, typename Visit>
void visit_fields(Object& operation, Visit&& visit) {
  visit("pipe", operation.pipe, Presence::kRequired);
  visit("latency_cycles", operation.latency_cycles, Presence::kRequired);
  visit("lanes_per_cycle", operation.lanes_per_cycle, Presence::kOptional);
  visit("instructions", operation.instructions, Presence::kOptional);
  visit("block_cycles", operation.block_cycles, Presence::kOptional);
}

template <Is<ComputeSpec> Object, typename Visit>
void visit_fields(Object& compute, Visit&& visit) {
  visit("schedulers", compute.schedulers, Presence::kRequired);
  visit("issue_cycles", compute.issue_cycles, Presence::kOptional);
  visit("loop_cycles", compute.loop_cycles, Presence::kOptional);
  visit("wait_cycles", compute.wait_cycles, Presence::kOptional);
  visit("instruction_bytes", compute.instruction_bytes, Presence::kOptional);
  visit("side_cycles", compute.side_cycles, Presence::kOptional);
  visit("register_unit", compute.register_unit, Presence::kOptional);
  visit("register_count", compute.register_count, Presence::kOptional);
  visit("shared_unit", compute.shared_unit, Presence::kOptional);
  visit("timer_step_ns", compute.timer_step_ns, Presence::kOptional);
  visit("clock_step_cycles", compute.clock_step_cycles, Presence::kOptional);
  visit("clock_read_cycles", compute.clock_read_cycles, Presence::kOptional);
  visit("clock_offsets_cycles", compute.clock_offsets_cycles, Presence::kOptional);
  visit("pipes", compute.pipes, Presence::kRequired);
  visit("operations", compute.operations, Presence::kRequired);
}

template <Is<LaunchSpec> Object, typename Visit>
void visit_fields(Object& launches, Visit&& visit) {
  visit("latency_ns", launches.latency_ns, Presence::kRequired);
  visit("submit_ns", launches.submit_ns, Presence::kRequired);
  visit("interval_ns", launches.interval_ns, Presence::kRequired);
  visit("graph_latency_ns", launches.graph_latency_ns, Presence::kRequired);
  visit("graph_interval_ns", launches.graph_interval_ns, Presence::kRequired);
  visit("argument_byte_ns", launches.argument_byte_ns, Presence::kOptional);
  visit("max_argument_bytes", launches.max_argument_bytes, Presence::kOptional);
}

template <Is<NoiseSpec> Object, typename Visit>
void visit_fields(Object& noise, Visit&& visit) {
  visit("jitter_cycles", noise.jitter_cycles, Presence::kOptional);
  visit("outlier_probability", noise.outlier_probability, Presence::kOptional);
  visit("outlier_cycles", noise.outlier_cycles, Presence::kOptional);
  visit("drift_fraction", noise.drift_fraction, Presence::kOptional);
  visit("interference_probability", noise.interference_probability, Presence::kOptional);
  visit("bandwidth_sigma", noise.bandwidth_sigma, Presence::kOptional);
}

template <Is<NeighbourSpec> Object, typename Visit>
void visit_fields(Object& neighbour, Visit&& visit) {
  visit("turn_cycles", neighbour.turn_cycles, Presence::kRequired);
  visit("neighbour_turn_cycles", neighbour.neighbour_turn_cycles, Presence::kRequired);
  visit("burst_programs", neighbour.burst_programs, Presence::kOptional);
  visit("bandwidth_share", neighbour.bandwidth_share, Presence::kOptional);
  visit("noticed", neighbour.noticed, Presence::kOptional);
}

template <Is<SliceSpec> Object, typename Visit>
void visit_fields(Object& slices, Visit&& visit) {
  visit("count", slices.count, Presence::kRequired);
  visit("partition_cycles", slices.partition_cycles, Presence::kOptional);
  visit("position_cycles", slices.position_cycles, Presence::kOptional);
  visit("tpc_cycles", slices.tpc_cycles, Presence::kOptional);
}

// All fields except machine_version.
template <Is<MachineSpec> Object, typename Visit>
void visit_fields(Object& spec, Visit&& visit) {
  visit("info", spec.info, Presence::kRequired);
  visit("caches", spec.caches, Presence::kRequired);
  visit("spaces", spec.spaces, Presence::kRequired);
  visit("code", spec.code, Presence::kOptional);
  visit("tlbs", spec.tlbs, Presence::kOptional);
  visit("texture_tlbs", spec.texture_tlbs, Presence::kOptional);
  visit("bandwidths", spec.bandwidths, Presence::kOptional);
  visit("banks", spec.banks, Presence::kOptional);
  visit("atomics", spec.atomics, Presence::kOptional);
  visit("clusters", spec.clusters, Presence::kOptional);
  visit("bulk_copies", spec.bulk_copies, Presence::kOptional);
  visit("compute", spec.compute, Presence::kOptional);
  visit("launches", spec.launches, Presence::kOptional);
  visit("noise", spec.noise, Presence::kOptional);
  visit("neighbour", spec.neighbour, Presence::kOptional);
  visit("sm_bytes_per_second", spec.sm_bytes_per_second, Presence::kOptional);
  visit("timer_cycles", spec.timer_cycles, Presence::kOptional);
  visit("loop_cycles", spec.loop_cycles, Presence::kOptional);
  visit("sms_per_tpc", spec.sms_per_tpc, Presence::kOptional);
  visit("tpc_distances_cycles", spec.tpc_distances_cycles, Presence::kOptional);
  visit("sm_groups", spec.sm_groups, Presence::kOptional);
  visit("slices", spec.slices, Presence::kOptional);
  visit("sms_near_first_partition", spec.sms_near_first_partition, Presence::kOptional);
}

}  // namespace gputopo::sim
