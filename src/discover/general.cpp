#include "discover/general.h"

#include <fmt/format.h>

#include <cmath>

#include "discover/host.h"

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

template <typename Number>
void add_number(AttributeMap& map, const std::string& id, const std::optional<Number>& value, const std::string& unit) {
  if (!value) {
    get_or_add(map, id) = unavailable(Reason::kNotSupported, "the driver does not tell");
  } else if constexpr (std::is_floating_point_v<Number>) {
    get_or_add(map, id) = api_value(static_cast<double>(*value), unit);
  } else {
    get_or_add(map, id) = api_value(static_cast<std::int64_t>(*value), unit);
  }
}

void add_text(AttributeMap& map, const std::string& id, const std::string& value) {
  get_or_add(map, id) =
      value.empty() ? unavailable(Reason::kNotSupported, "the system does not tell") : api_value(value, "");
}

template <typename T>
void add_if_told(AttributeMap& map, const std::string& id, const std::optional<T>& value) {
  if constexpr (std::is_integral_v<T>) {
    if (value) get_or_add(map, id) = api_value(static_cast<std::int64_t>(*value), "");
  } else {
    if (value) get_or_add(map, id) = api_value(*value, "");
  }
}

// Of GPUs whose SMs sit on several dies, or whose numbers have gaps.
void add_layout(const DeviceInfo& info, AttributeMap& compute) {
  add_if_told(compute, "simds_per_sm", info.simds_per_sm);
  add_if_told(compute, "xcd_count", info.xcd_count);
  if (info.xcd_count) {
    get_or_add(compute, "sms_per_xcd") =
        inferred_value(static_cast<std::int64_t>(info.sm_count / *info.xcd_count), "", "sm_count_over_xcd_count");
  }
  add_if_told(compute, "sms_physical", info.sms_physical);
  if (info.physical_sm_ids) {
    get_or_add(compute, "physical_sm_ids") =
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

}  // namespace

void fill_general(const DeviceInfo& info, Topology& topology) {
  topology.backend = info.backend;
  topology.simulated = info.simulated;
  topology.vendor = info.vendor;
  topology.name = info.name;
  topology.architecture = info.architecture;
  topology.pci_address = info.pci_address;

  AttributeMap& device = topology.device;
  const std::optional<int>& major = info.compute_capability_major;
  const std::optional<int>& minor = info.compute_capability_minor;
  // NVIDIA's; of other GPUs the architecture says as much.
  if (major && minor) add_text(device, "compute_capability", fmt::format("{}.{}", *major, *minor));
  add_number(device, "sm_clock_max", info.sm_clock_max_mhz, "MHz");
  add_number(device, "memory_clock_max", info.memory_clock_max_mhz, "MHz");
  add_number(device, "memory_bus_width", info.memory_bus_bits, "bit");
  if (info.memory_clock_max_mhz && info.memory_bus_bits) {
    // Two transfers a clock on every GDDR and HBM generation, as the driver counts the clock.
    constexpr double kTransfersPerClock = 2;
    const double bytes_per_second = *info.memory_clock_max_mhz * 1e6 * kTransfersPerClock * *info.memory_bus_bits / 8;
    get_or_add(device, "memory_bandwidth_theoretical") =
        inferred_value(bytes_per_second, "B/s", "2_x_clock_x_bus_width");
  }
  add_text(device, "driver_version", info.driver_version);
  if (info.mig_enabled) get_or_add(device, "mig_enabled") = api_value(*info.mig_enabled, "");
  add_if_told(device, "compute_partition_mode", info.compute_partition_mode);
  add_if_told(device, "memory_partition_mode", info.memory_partition_mode);
  add_text(device, "host_cpu", host_cpu());
  add_text(device, "os", host_os());

  AttributeMap& compute = topology.compute;
  get_or_add(compute, "sm_count") = api_value(static_cast<std::int64_t>(info.sm_count), "");
  get_or_add(compute, "cores_per_sm") = cores_per_sm(info);
  add_layout(info, compute);
  get_or_add(compute, "warp_size") = api_value(static_cast<std::int64_t>(info.warp_size), "");
  add_number(compute, "max_threads_per_block", info.max_threads_per_block, "");
  add_number(compute, "max_threads_per_sm", info.max_threads_per_sm, "");
  add_number(compute, "max_blocks_per_sm", info.max_blocks_per_sm, "");
  add_number(compute, "registers_per_block", info.registers_per_block, "");
  add_number(compute, "registers_per_sm", info.registers_per_sm, "");
  add_number(compute, "shared_memory_per_block", info.shared_bytes_per_block, "B");
  add_number(compute, "shared_memory_per_block_opt_in", info.shared_bytes_per_block_opt_in, "B");
  add_number(compute, "shared_memory_per_sm", info.shared_bytes_per_sm, "B");
  add_number(compute, "shared_memory_reserved_per_block", info.shared_reserved_bytes_per_block, "B");
  add_number(compute, "constant_memory", info.constant_bytes, "B");
}

void add_theoretical_bandwidths(Topology& topology) {
  const auto add = [](MemoryElement& element, const auto& theoretical) {
    for (const char* id : {"read_bandwidth", "write_bandwidth"}) {
      for (auto& [name, attribute] : element.attributes) {
        if (name != id || !attribute.number()) continue;
        const std::optional<double> bytes_per_second = theoretical(attribute);
        if (bytes_per_second) attribute.add_detail("theoretical_bytes_per_second", *bytes_per_second);
      }
    }
  };
  const auto number = [](const AttributeMap& attributes, std::string_view id) {
    const Attribute* attribute = find(attributes, id);
    return attribute == nullptr ? std::nullopt : attribute->number();
  };
  for (MemoryElement& element : topology.memory) {
    if (element.id == "device") {
      add(element, [&](const Attribute&) { return number(topology.device, "memory_bandwidth_theoretical"); });
    }
    const std::optional<double> banks = number(element.attributes, "banks");
    const std::optional<double> width = number(element.attributes, "bank_width");
    const std::optional<double> sms = number(topology.compute, "sm_count");
    if (!banks || !width || !sms) continue;
    // Each bank of each SM serves its width every clock, at the clock that the bandwidth was measured at.
    add(element, [&](const Attribute& bandwidth) -> std::optional<double> {
      for (const auto& [name, value] : bandwidth.conditions) {
        const double* mhz = std::get_if<double>(&value);
        if (name == "sm_clock_mhz" && mhz != nullptr && *mhz > 0)
          return std::round(*banks * *width * *sms * *mhz * 1e6);
      }
      return std::nullopt;
    });
  }
}

}  // namespace gputopo
