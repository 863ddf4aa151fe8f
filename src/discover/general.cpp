#include "discover/general.h"

#include <fmt/format.h>

#include <cmath>

#include "file/host.h"

namespace gputopo {
namespace {

struct CoresPerSm {
  int major;
  int minor;
  int cores;
};

// FP32 lanes per SM by compute capability (CUDA C++ Programming Guide, "Arithmetic Instructions" and the architecture
// sections). It cannot be asked of the driver.
constexpr CoresPerSm kCoresPerSm[] = {{1, 0, 8},    {1, 1, 8},    {1, 2, 8},    {1, 3, 8},    {2, 0, 32},  {2, 1, 48},
                                      {3, 0, 192},  {3, 2, 192},  {3, 5, 192},  {3, 7, 192},  {5, 0, 128}, {5, 2, 128},
                                      {5, 3, 128},  {6, 0, 64},   {6, 1, 128},  {6, 2, 128},  {7, 0, 64},  {7, 2, 64},
                                      {7, 5, 64},   {8, 0, 64},   {8, 6, 128},  {8, 7, 128},  {8, 9, 128}, {9, 0, 128},
                                      {10, 0, 128}, {10, 3, 128}, {11, 0, 128}, {12, 0, 128}, {12, 1, 128}};

// What the driver tells, in the unit of the catalogue; or that it does not.
template <typename Number>
void add_number(AttributeMap& map, AttributeId id, const std::optional<Number>& value) {
  const std::string unit(info_of(id).unit);
  if (!value) {
    get_or_add(map, id) = unavailable(Reason::kNotSupported, "the driver does not tell");
  } else if constexpr (std::is_floating_point_v<Number>) {
    get_or_add(map, id) = api_value(static_cast<double>(*value), unit);
  } else {
    get_or_add(map, id) = api_value(static_cast<std::int64_t>(*value), unit);
  }
}

void add_text(AttributeMap& map, AttributeId id, const std::string& value) {
  get_or_add(map, id) =
      value.empty() ? unavailable(Reason::kNotSupported, "the system does not tell") : api_value(value, "");
}

// What only some devices have.
template <typename T>
void add_if_told(AttributeMap& map, AttributeId id, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    get_or_add(map, id) = api_value(static_cast<std::int64_t>(*value), "");
  } else {
    get_or_add(map, id) = api_value(*value, "");
  }
}

// Of GPUs whose SMs sit on several dies, or whose numbers have gaps.
void add_layout(const DeviceInfo& info, AttributeMap& compute) {
  add_if_told(compute, AttributeId::kSimdsPerSm, info.simds_per_sm);
  add_if_told(compute, AttributeId::kXcdCount, info.xcd_count);
  if (info.xcd_count) {
    get_or_add(compute, AttributeId::kSmsPerXcd) =
        inferred_value(static_cast<std::int64_t>(info.sm_count / *info.xcd_count), "", "sm_count_over_xcd_count");
  }
  add_if_told(compute, AttributeId::kSmsPhysical, info.sms_physical);
  if (info.physical_sm_ids) {
    get_or_add(compute, AttributeId::kPhysicalSmIds) =
        api_value(std::vector<double>(info.physical_sm_ids->begin(), info.physical_sm_ids->end()), "");
  }
}

Attribute cores_per_sm(const DeviceInfo& info) {
  if (info.cores_per_sm)
    return inferred_value(static_cast<std::int64_t>(*info.cores_per_sm), "", "table_by_architecture");
  for (const CoresPerSm& row : kCoresPerSm) {
    if (row.major == info.compute_capability_major && row.minor == info.compute_capability_minor) {
      return inferred_value(static_cast<std::int64_t>(row.cores), "", "table_by_compute_capability");
    }
  }
  return unavailable(Reason::kNotSupported, "no entry for this compute capability in the table of cores per SM");
}

// The machine that replays a recording is not the one that was measured.
void add_recorded(AttributeMap& map, AttributeId id, const std::string& value) {
  Attribute& attribute = get_or_add(map, id);
  if (value.empty()) {
    attribute = unavailable(Reason::kNotSupported, "the recording does not tell");
    return;
  }
  attribute = api_value(value, "");
  attribute.method = "told_by_the_recording";
}

void fill_device(const DeviceInfo& info, AttributeMap& device) {
  const std::optional<int>& major = info.compute_capability_major;
  const std::optional<int>& minor = info.compute_capability_minor;
  // NVIDIA's; of other GPUs the architecture says as much.
  if (major && minor) add_text(device, AttributeId::kComputeCapability, fmt::format("{}.{}", *major, *minor));
  add_number(device, AttributeId::kSmClockMax, info.sm_clock_max_mhz);
  add_number(device, AttributeId::kMemoryClockMax, info.memory_clock_max_mhz);
  add_number(device, AttributeId::kMemoryBusWidth, info.memory_bus_bits);
  if (const auto bytes_per_second = theoretical_memory_bytes_per_second(info)) {
    get_or_add(device, AttributeId::kMemoryBandwidthTheoretical) =
        inferred_value(*bytes_per_second, "B/s", "2_x_clock_x_bus_width");
  }
  add_text(device, AttributeId::kDriverVersion, info.driver_version);
  add_if_told(device, AttributeId::kMigEnabled, info.mig_enabled);
  add_if_told(device, AttributeId::kComputePartitionMode, info.compute_partition_mode);
  add_if_told(device, AttributeId::kMemoryPartitionMode, info.memory_partition_mode);
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
  add_number(compute, AttributeId::kRegistersPerBlock, info.registers_per_block);
  add_number(compute, AttributeId::kRegistersPerSm, info.registers_per_sm);
  add_number(compute, AttributeId::kSharedMemoryPerBlock, info.shared_bytes_per_block);
  add_number(compute, AttributeId::kSharedMemoryPerBlockOptIn, info.shared_bytes_per_block_opt_in);
  add_number(compute, AttributeId::kSharedMemoryPerSm, info.shared_bytes_per_sm);
  add_number(compute, AttributeId::kSharedMemoryReservedPerBlock, info.shared_reserved_bytes_per_block);
  add_number(compute, AttributeId::kConstantMemory, info.constant_bytes);
}

// Adds a peak to what was measured of both directions; `peak` may depend on the conditions of each.
template <typename Peak>
void add_peaks(MemoryElement& element, const Peak& peak) {
  for (const AttributeId id : {AttributeId::kReadBandwidth, AttributeId::kWriteBandwidth}) {
    Attribute& bandwidth = get_or_add(element.attributes, id);
    if (!bandwidth.number()) continue;
    if (const std::optional<double> bytes_per_second = peak(bandwidth)) {
      bandwidth.add_detail("theoretical_bytes_per_second", *bytes_per_second);
    }
  }
}

std::optional<double> number_of(const AttributeMap& attributes, AttributeId id) {
  const Attribute* attribute = find(attributes, id);
  return attribute == nullptr ? std::nullopt : attribute->number();
}

std::optional<double> clock_hertz(const Attribute& attribute) {
  for (const auto& [name, value] : attribute.conditions) {
    const double* mhz = std::get_if<double>(&value);
    if (name == "sm_clock_mhz" && mhz != nullptr && *mhz > 0) return *mhz * 1e6;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> theoretical_memory_bytes_per_second(const DeviceInfo& info) {
  if (!info.memory_clock_max_mhz || !info.memory_bus_bits) return std::nullopt;
  // Two transfers a clock on every GDDR and HBM generation, as the driver counts the clock.
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

void add_theoretical_bandwidths(Topology& topology) {
  for (MemoryElement& element : topology.memory) {
    const ElementInfo* info = find_element(element.id);
    if (info != nullptr && info->kind == ElementKind::kMemory) {
      add_peaks(element,
                [&](const Attribute&) { return number_of(topology.device, AttributeId::kMemoryBandwidthTheoretical); });
    }
    const std::optional<double> banks = number_of(element.attributes, AttributeId::kBanks);
    const std::optional<double> width = number_of(element.attributes, AttributeId::kBankWidth);
    const std::optional<double> sms = number_of(topology.compute, AttributeId::kSmCount);
    if (!banks || !width || !sms) continue;
    // Each bank of each SM serves its width every clock, at the clock that the bandwidth was measured at.
    add_peaks(element, [&](const Attribute& bandwidth) -> std::optional<double> {
      const std::optional<double> hertz = clock_hertz(bandwidth);
      return hertz ? std::optional(std::round(*banks * *width * *sms * *hertz)) : std::nullopt;
    });
  }
}

}  // namespace gputopo
