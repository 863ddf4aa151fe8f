// The fields of DeviceInfo by name, for every file that spells them: machine files and recordings.
#pragma once

#include "gputopo/device.h"

namespace gputopo {

// Calls visit(name, field) for every field that describes the device itself, not this process's view of it.
template <typename Info, typename Visit>
void visit_info_fields(Info& info, Visit&& visit) {
  visit("vendor", info.vendor);
  visit("name", info.name);
  visit("architecture", info.architecture);
  visit("compute_capability_major", info.compute_capability_major);
  visit("compute_capability_minor", info.compute_capability_minor);
  visit("driver_version", info.driver_version);
  visit("mig_enabled", info.mig_enabled);
  visit("instance_profile", info.instance.profile);
  visit("instance_compute_slices", info.instance.compute_slices);
  visit("instance_compute_slices_of_gpu", info.instance.compute_slices_of_gpu);
  visit("instance_memory_slices", info.instance.memory_slices);
  visit("instance_memory_slices_of_gpu", info.instance.memory_slices_of_gpu);
  visit("ecc_enabled", info.ecc_enabled);
  visit("persistence_mode", info.persistence_mode);
  visit("compute_mode", info.compute_mode);
  visit("power_limit_watts", info.power_limit_watts);
  visit("mps_enabled", info.mps_enabled);
  visit("mps_clients", info.mps_clients);
  visit("pcie_generation", info.pci_link.generation);
  visit("pcie_width", info.pci_link.width);
  visit("pcie_generation_max", info.pci_link.generation_max);
  visit("pcie_width_max", info.pci_link.width_max);
  visit("sm_count", info.sm_count);
  visit("warp_size", info.warp_size);
  visit("cores_per_sm", info.cores_per_sm);
  visit("simds_per_sm", info.simds_per_sm);
  visit("xcd_count", info.xcd_count);
  visit("sms_physical", info.sms_physical);
  visit("physical_sm_ids", info.physical_sm_ids);
  visit("compute_partition_mode", info.compute_partition_mode);
  visit("memory_partition_mode", info.memory_partition_mode);
  visit("sm_clock_max_mhz", info.sm_clock_max_mhz);
  visit("memory_clock_max_mhz", info.memory_clock_max_mhz);
  visit("memory_bus_bits", info.memory_bus_bits);
  visit("max_threads_per_block", info.max_threads_per_block);
  visit("max_threads_per_sm", info.max_threads_per_sm);
  visit("max_blocks_per_sm", info.max_blocks_per_sm);
  visit("max_grid_blocks", info.max_grid_blocks);
  visit("registers_per_block", info.registers_per_block);
  visit("registers_per_sm", info.registers_per_sm);
  visit("shared_bytes_per_block", info.shared_bytes_per_block);
  visit("shared_bytes_per_block_opt_in", info.shared_bytes_per_block_opt_in);
  visit("shared_bytes_per_sm", info.shared_bytes_per_sm);
  visit("shared_reserved_bytes_per_block", info.shared_reserved_bytes_per_block);
  visit("memory_bytes", info.memory_bytes);
  visit("l2_bytes", info.l2_bytes);
  visit("l2_persisting_max_bytes", info.l2_persisting_max_bytes);
  visit("l2_persisting_bytes", info.l2_persisting_bytes);
  visit("l2_fetch_limit_bytes", info.l2_fetch_limit_bytes);
  visit("l3_bytes", info.l3_bytes);
  visit("constant_bytes", info.constant_bytes);
  visit("gds_bytes", info.gds_bytes);
  visit("global_l1_supported", info.global_l1_supported);
  visit("carve_outs_bytes", info.carve_outs_bytes);
}

}  // namespace gputopo
