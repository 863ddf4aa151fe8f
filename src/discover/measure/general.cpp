#include "discover/measure/general.h"

#include <fmt/format.h>

#include <algorithm>

#include "file/host.h"

namespace gputopo {
namespace {

// A row for the compute capabilities from `first_minor` to `last_minor`.
struct SmRow {
  int major;
  int first_minor;
  int last_minor;
  int cores;
  int schedulers;
  int registers_per_thread;  // the limit
};

// FP32 lanes and warp schedulers per SM, and the limit of registers per thread, by compute capability (CUDA C++
// Programming Guide, "Arithmetic Instructions", "Technical Specifications" and the architecture sections). The driver
// does not report them.
constexpr SmRow kSmTable[] = {{1, 0, 3, 8, 1, 124},    {2, 0, 0, 32, 2, 63},    {2, 1, 1, 48, 2, 63},
                              {3, 0, 0, 192, 4, 63},   {3, 2, 7, 192, 4, 255},  {5, 0, 3, 128, 4, 255},
                              {6, 0, 0, 64, 2, 255},   {6, 1, 2, 128, 4, 255},  {7, 0, 5, 64, 4, 255},
                              {8, 0, 0, 64, 4, 255},   {8, 6, 9, 128, 4, 255},  {9, 0, 0, 128, 4, 255},
                              {10, 0, 3, 128, 4, 255}, {11, 0, 0, 128, 4, 255}, {12, 0, 1, 128, 4, 255}};

const SmRow* sm_row_of(const DeviceInfo& info) {
  const int minor = info.compute_capability_minor.value_or(0);
  const auto* const row = std::ranges::find_if(kSmTable, [&](const SmRow& one) {
    return one.major == info.compute_capability_major && one.first_minor <= minor && minor <= one.last_minor;
  });
  return row == std::end(kSmTable) ? nullptr : row;
}

// Adds what the driver reports, in the unit of the catalogue, or that it does not report it.
template <typename Number>
void add_number(AttributeMap& map, AttributeId id, const std::optional<Number>& value) {
  const std::string unit(info_of(id).unit);
  if (!value) {
    get_or_add(map, id) = unavailable(Reason::kNotSupported, "the driver does not report this value");
  } else if constexpr (std::is_floating_point_v<Number>) {
    get_or_add(map, id) = api_value(static_cast<double>(*value), unit);
  } else {
    get_or_add(map, id) = api_value(static_cast<std::int64_t>(*value), unit);
  }
}

void add_text(AttributeMap& map, AttributeId id, const std::string& value) {
  get_or_add(map, id) = value.empty() ? unavailable(Reason::kNotSupported, "the system does not report this value")
                                      : api_value(value, "");
}

// Adds what only some devices have.
template <typename T>
void add_if_reported(AttributeMap& map, AttributeId id, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    get_or_add(map, id) = api_value(static_cast<std::int64_t>(*value), "");
  } else {
    get_or_add(map, id) = api_value(*value, "");
  }
}

template <typename T>
void add_reported(AttributeMap& map, AttributeId id, const std::optional<T>& value) {
  if (value) {
    add_if_reported(map, id, value);
    get_or_add(map, id).unit = info_of(id).unit;
  } else {
    get_or_add(map, id) = unavailable(Reason::kNotSupported, "the system does not report this value to this process");
  }
}

// For GPUs with SMs on several dies, or with gaps in the SM numbers.
void add_layout(const DeviceInfo& info, AttributeMap& compute) {
  add_if_reported(compute, AttributeId::kSimdsPerSm, info.simds_per_sm);
  add_if_reported(compute, AttributeId::kXcdCount, info.xcd_count);
  if (info.xcd_count) {
    get_or_add(compute, AttributeId::kSmsPerXcd) =
        inferred_value(static_cast<std::int64_t>(info.sm_count / *info.xcd_count), "", "sm_count_over_xcd_count");
  }
  add_if_reported(compute, AttributeId::kSmsPhysical, info.sms_physical);
  if (info.physical_sm_ids) {
    get_or_add(compute, AttributeId::kPhysicalSmIds) =
        api_value(std::vector<double>(info.physical_sm_ids->begin(), info.physical_sm_ids->end()), "");
  }
}

Attribute by_compute_capability(const DeviceInfo& info, int SmRow::*column) {
  const SmRow* row = sm_row_of(info);
  if (row == nullptr)
    return unavailable(Reason::kNotSupported, "gputopo's table has no entry for this compute capability");
  return inferred_value(static_cast<std::int64_t>(row->*column), "", "table_by_compute_capability");
}

Attribute cores_per_sm(const DeviceInfo& info) {
  if (info.cores_per_sm)
    return inferred_value(static_cast<std::int64_t>(*info.cores_per_sm), "", "table_by_architecture");
  return by_compute_capability(info, &SmRow::cores);
}

// The link to the host. A detail says what the device can do on a better link.
void add_link(AttributeMap& device, AttributeId id, std::optional<std::uint32_t> now,
              std::optional<std::uint32_t> most) {
  if (!now) return;
  add_if_reported(device, id, now);
  if (most) get_or_add(device, id).add_detail("device_max", static_cast<std::int64_t>(*most));
}

void fill_instance(const DeviceInfo& info, AttributeMap& device) {
  const GpuInstance& instance = info.instance;
  add_if_reported(device, AttributeId::kInstanceProfile, instance.profile);
  // A container may forbid what the management library would tell.
  const std::string_view named = mig_profile_in(info.name);
  if (!instance.profile && !named.empty()) {
    get_or_add(device, AttributeId::kInstanceProfile) = inferred_value(std::string(named), "", "device_name");
  }
  const auto add_slices = [&](AttributeId id, std::optional<std::uint32_t> own, std::optional<std::uint32_t> of_gpu) {
    add_if_reported(device, id, own);
    if (own && of_gpu) get_or_add(device, id).add_detail("of_gpu", static_cast<std::int64_t>(*of_gpu));
  };
  add_slices(AttributeId::kInstanceComputeSlices, instance.compute_slices, instance.compute_slices_of_gpu);
  add_slices(AttributeId::kInstanceMemorySlices, instance.memory_slices, instance.memory_slices_of_gpu);
}

// Settings of an administrator, and the device's connection to the host.
void fill_settings(const DeviceInfo& info, AttributeMap& device) {
  add_link(device, AttributeId::kPcieGeneration, info.pci_link.generation, info.pci_link.generation_max);
  add_link(device, AttributeId::kPcieWidth, info.pci_link.width, info.pci_link.width_max);
  if (info.power_limit_watts) add_number(device, AttributeId::kPowerLimit, info.power_limit_watts);
  const auto add_bytes = [&](AttributeId id, std::optional<std::uint64_t> bytes) {
    if (bytes) add_number(device, id, bytes);
  };
  add_bytes(AttributeId::kL2FetchLimit, info.l2_fetch_limit_bytes);
  add_bytes(AttributeId::kL2PersistingMax, info.l2_persisting_max_bytes);
  add_bytes(AttributeId::kL2Persisting, info.l2_persisting_bytes);
  add_if_reported(device, AttributeId::kEccEnabled, info.ecc_enabled);
  add_if_reported(device, AttributeId::kPersistenceMode, info.persistence_mode);
  add_if_reported(device, AttributeId::kComputeMode, info.compute_mode);
  add_if_reported(device, AttributeId::kMps, info.mps_enabled);
  if (info.mps_clients) get_or_add(device, AttributeId::kMps).add_detail("clients", std::int64_t{*info.mps_clients});
  add_if_reported(device, AttributeId::kMigEnabled, info.mig_enabled);
  fill_instance(info, device);
  add_if_reported(device, AttributeId::kComputePartitionMode, info.compute_partition_mode);
  add_if_reported(device, AttributeId::kMemoryPartitionMode, info.memory_partition_mode);
}

// The host that replays a recording is not the host that was measured.
void add_recorded(AttributeMap& map, AttributeId id, const std::string& value) {
  Attribute& attribute = get_or_add(map, id);
  if (value.empty()) {
    attribute = unavailable(Reason::kNotSupported, "the recording does not contain this value");
    return;
  }
  attribute = api_value(value, "");
  attribute.method = "from_recording";
}

void fill_device(const DeviceInfo& info, AttributeMap& device) {
  const std::optional<int>& major = info.compute_capability_major;
  const std::optional<int>& minor = info.compute_capability_minor;
  // NVIDIA only. On other GPUs, the architecture says as much.
  if (major && minor) add_text(device, AttributeId::kComputeCapability, fmt::format("{}.{}", *major, *minor));
  add_number(device, AttributeId::kSmClockMax, info.sm_clock_max_mhz);
  add_number(device, AttributeId::kMemoryClockMax, info.memory_clock_max_mhz);
  add_number(device, AttributeId::kMemoryBusWidth, info.memory_bus_bits);
  if (const auto bytes_per_second = theoretical_memory_bytes_per_second(info)) {
    get_or_add(device, AttributeId::kMemoryBandwidthTheoretical) =
        inferred_value(*bytes_per_second, "B/s", "2_x_clock_x_bus_width");
  }
  add_text(device, AttributeId::kDriverVersion, info.driver_version);
  fill_settings(info, device);
  if (info.recorded) {
    add_recorded(device, AttributeId::kHostCpu, info.recorded->host_cpu);
    add_recorded(device, AttributeId::kOs, info.recorded->os);
    return;
  }
  add_text(device, AttributeId::kHostCpu, host_cpu());
  add_text(device, AttributeId::kOs, host_os());
}

void fill_compute(const DeviceInfo& info, AttributeMap& compute) {
  add_number(compute, AttributeId::kSmCount, std::optional(info.sm_count));
  get_or_add(compute, AttributeId::kCoresPerSm) = cores_per_sm(info);
  add_layout(info, compute);
  add_number(compute, AttributeId::kWarpSize, std::optional(info.warp_size));
  add_number(compute, AttributeId::kMaxThreadsPerBlock, info.max_threads_per_block);
  add_number(compute, AttributeId::kMaxThreadsPerSm, info.max_threads_per_sm);
  add_number(compute, AttributeId::kMaxBlocksPerSm, info.max_blocks_per_sm);
  if (info.max_threads_per_sm) {
    get_or_add(compute, AttributeId::kWarpsPerSm) = inferred_value(
        static_cast<std::int64_t>(*info.max_threads_per_sm / info.warp_size), "", "max_threads_per_sm_over_warp_size");
  }
  if (info.compute_capability_major) {
    get_or_add(compute, AttributeId::kSchedulersPerSm) = by_compute_capability(info, &SmRow::schedulers);
    get_or_add(compute, AttributeId::kRegistersPerThread) = by_compute_capability(info, &SmRow::registers_per_thread);
  }
  if (info.max_grid_blocks) {
    get_or_add(compute, AttributeId::kMaxGrid) =
        api_value(std::vector<double>(info.max_grid_blocks->begin(), info.max_grid_blocks->end()), "");
  }
  add_number(compute, AttributeId::kRegistersPerBlock, info.registers_per_block);
  add_number(compute, AttributeId::kRegistersPerSm, info.registers_per_sm);
  add_number(compute, AttributeId::kSharedMemoryPerBlock, info.shared_bytes_per_block);
  add_number(compute, AttributeId::kSharedMemoryPerBlockOptIn, info.shared_bytes_per_block_opt_in);
  add_number(compute, AttributeId::kSharedMemoryPerSm, info.shared_bytes_per_sm);
  add_number(compute, AttributeId::kSharedMemoryReservedPerBlock, info.shared_reserved_bytes_per_block);
  add_number(compute, AttributeId::kConstantMemory, info.constant_bytes);
  if (info.gds_bytes) add_number(compute, AttributeId::kGlobalDataShare, info.gds_bytes);
}

}  // namespace

std::optional<double> theoretical_memory_bytes_per_second(const DeviceInfo& info) {
  if (!info.memory_clock_max_mhz || !info.memory_bus_bits) return std::nullopt;
  // Every GDDR and HBM generation makes two transfers per clock, as the driver counts the clock.
  constexpr double kTransfersPerClock = 2;
  return *info.memory_clock_max_mhz * 1e6 * kTransfersPerClock * *info.memory_bus_bits / 8;
}

void fill_general(const DeviceInfo& info, Topology& topology) {
  topology.backend = info.backend;
  topology.simulated = info.simulated;
  topology.vendor = info.vendor;
  topology.name = info.name;
  topology.architecture = info.architecture;
  topology.pci_address = info.pci_address;

  fill_device(info, topology.device);
  fill_compute(info, topology.compute);
}

void fill_health(const DeviceHealth& health, AttributeMap& device) {
  add_reported(device, AttributeId::kEccUncorrected, health.ecc_uncorrected);
  add_reported(device, AttributeId::kEccCorrected, health.ecc_corrected);
  add_reported(device, AttributeId::kRemappedRows, health.remapped_rows);
  add_reported(device, AttributeId::kRowRemapPending, health.row_remap_pending);
  add_reported(device, AttributeId::kRowRemapFailed, health.row_remap_failed);
  add_reported(device, AttributeId::kPowerLimitDefault, health.power_limit_default_watts);
  add_reported(device, AttributeId::kSlowdown, health.slowdown);
  add_reported(device, AttributeId::kNvlinkErrors, health.nvlink_errors);
  add_reported(device, AttributeId::kPcieReplays, health.pcie_replays);
  add_reported(device, AttributeId::kXids, health.xids);
}

}  // namespace gputopo
