#include "device/cuda/device_info.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "device/cuda/context_limits.h"
#include "device/cuda/kernel_layout.h"
#include "device/driver/host_room.h"
#include "device/driver/sysfs.h"
#include "device/launch/launch_gpu.h"

namespace gputopo::cuda {
namespace {

struct ArchitectureRow {
  int sm;  // its first compute capability
  const char* name;
  std::vector<std::uint64_t> carve_outs_kib;
};

// Shared-memory carve-outs: CUDA C++ Programming Guide, "Compute Capabilities", section "Shared Memory" of each.
const ArchitectureRow* architecture_of(int sm) {
  static const std::vector<std::uint64_t> kLarge = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
  static const std::vector<std::uint64_t> kSmall = {0, 8, 16, 32, 64, 100};
  static const std::vector<std::uint64_t> kAmpere = {0, 8, 16, 32, 64, 100, 132, 164};
  static const std::vector<ArchitectureRow> rows = {
      {30, "Kepler", {16, 32, 48}}, {50, "Maxwell", {}},
      {60, "Pascal", {}},           {70, "Volta", {0, 8, 16, 32, 64, 96}},
      {75, "Turing", {32, 64}},     {80, "Ampere", kAmpere},
      {86, "Ampere", kSmall},       {87, "Ampere", kAmpere},
      {88, "Ampere", kSmall},       {89, "Ada", kSmall},
      {90, "Hopper", kLarge},       {100, "Blackwell", kLarge},
      {120, "Blackwell", kSmall},   {122, "", {}},
  };
  const ArchitectureRow* found = nullptr;
  for (const ArchitectureRow& row : rows) {
    if (row.sm <= sm) found = &row;
  }
  return found;
}

// CUcomputemode.
std::optional<std::string> compute_mode_name(std::optional<std::uint64_t> mode) {
  switch (mode.value_or(~0ull)) {
    case 0:
      return "default";
    case 2:
      return "prohibited";
    case 3:
      return "exclusive_process";
    default:
      return std::nullopt;
  }
}

class InfoReader {
 public:
  InfoReader(const Driver& driver, DeviceHandle device, const NvmlReadings& nvml)
      : driver_(driver), device_(device), nvml_(nvml) {}

  DeviceInfo read(const std::string& pci_address) {
    info_.backend = "cuda";
    info_.vendor = "NVIDIA";
    info_.pci_address = pci_address;
    info_.name = driver_.device_name(device_);
    read_architecture();
    read_setup();
    read_limits();
    read_caches();
    info_.spaces.assign(std::begin(kCudaSpaces), std::end(kCudaSpaces));
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    driver_.check(driver_.mem_get_info(&free_bytes, &total_bytes), "cuMemGetInfo");
    const bool is_integrated = attribute(DeviceAttribute::kIntegrated).value_or(0) != 0;
    launch::set_memory(info_, free_bytes, total_bytes, is_integrated ? std::optional(host_room_bytes()) : std::nullopt);
    return std::move(info_);
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> attribute(DeviceAttribute which) const {
    return device_attribute(driver_, device_, which);
  }

  [[nodiscard]] std::optional<std::uint64_t> positive(DeviceAttribute which) const {
    const auto value = attribute(which);
    return value && *value > 0 ? value : std::nullopt;
  }

  [[nodiscard]] std::optional<double> clock_mhz(std::optional<unsigned> nvml_mhz, DeviceAttribute khz) const {
    if (nvml_mhz) return *nvml_mhz;
    if (const auto value = positive(khz)) return static_cast<double>(*value) / 1e3;
    return std::nullopt;
  }

  void read_architecture() {
    const auto major = static_cast<int>(attribute(DeviceAttribute::kComputeCapabilityMajor).value_or(0));
    const auto minor = static_cast<int>(attribute(DeviceAttribute::kComputeCapabilityMinor).value_or(0));
    info_.compute_capability_major = major;
    info_.compute_capability_minor = minor;
    if (const ArchitectureRow* row = architecture_of(10 * major + minor)) {
      info_.architecture = row->name;
      for (const std::uint64_t kib : row->carve_outs_kib) info_.carve_outs_bytes.push_back(kib * 1024);
    }
  }

  void read_setup() {
    const int version = driver_.version();
    const std::string cuda_version = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
    info_.driver_version =
        nvml_.driver_version.empty() ? cuda_version : fmt::format("{} ({})", nvml_.driver_version, cuda_version);
    info_.mig_enabled = nvml_.mig_enabled;
    if (nvml_.mig_enabled.value_or(false)) info_.instance = nvml_.mig.instance_of(driver_.mig_uuid(device_));
    info_.persistence_mode = nvml_.persistence_mode;
    info_.power_limit_watts = nvml_.power_limit_watts;
    info_.pci_link = read_pci_link(sysfs_root(), info_.pci_address);
    if (const auto ecc = attribute(DeviceAttribute::kEccEnabled)) info_.ecc_enabled = *ecc != 0;
    info_.compute_mode = compute_mode_name(attribute(DeviceAttribute::kComputeMode));
  }

  void read_limits() {
    info_.sm_count = static_cast<std::uint32_t>(attribute(DeviceAttribute::kSmCount).value_or(1));
    info_.warp_size = static_cast<std::uint32_t>(attribute(DeviceAttribute::kWarpSize).value_or(32));
    info_.sm_clock_max_mhz = clock_mhz(nvml_.sm_clock_max_mhz, DeviceAttribute::kClockKhz);
    info_.memory_clock_max_mhz = clock_mhz(nvml_.memory_clock_max_mhz, DeviceAttribute::kMemoryClockKhz);
    if (const auto bits = positive(DeviceAttribute::kMemoryBusBits))
      info_.memory_bus_bits = static_cast<std::uint32_t>(*bits);
    info_.max_threads_per_block = attribute(DeviceAttribute::kMaxThreadsPerBlock);
    info_.max_threads_per_sm = attribute(DeviceAttribute::kMaxThreadsPerSm);
    info_.max_blocks_per_sm = positive(DeviceAttribute::kMaxBlocksPerSm);
    const auto grid_x = positive(DeviceAttribute::kMaxGridX);
    const auto grid_y = positive(DeviceAttribute::kMaxGridY);
    const auto grid_z = positive(DeviceAttribute::kMaxGridZ);
    if (grid_x && grid_y && grid_z) info_.max_grid_blocks = {{*grid_x, *grid_y, *grid_z}};
    info_.registers_per_block = attribute(DeviceAttribute::kRegistersPerBlock);
    info_.registers_per_sm = attribute(DeviceAttribute::kRegistersPerSm);
    info_.shared_bytes_per_block = attribute(DeviceAttribute::kSharedBytesPerBlock);
    info_.shared_bytes_per_block_opt_in = positive(DeviceAttribute::kSharedBytesPerBlockOptIn);
    info_.shared_bytes_per_sm = attribute(DeviceAttribute::kSharedBytesPerSm);
    info_.shared_reserved_bytes_per_block = attribute(DeviceAttribute::kReservedSharedBytesPerBlock);
  }

  void read_caches() {
    info_.l2_bytes = positive(DeviceAttribute::kL2Bytes);
    info_.l2_persisting_max_bytes = attribute(DeviceAttribute::kMaxPersistingL2Bytes);
    info_.l2_persisting_bytes = context_limit(driver_, ContextLimit::kPersistingL2Bytes);
    info_.l2_fetch_limit_bytes = context_limit(driver_, ContextLimit::kL2FetchGranularity);
    info_.constant_bytes = attribute(DeviceAttribute::kConstantBytes);
    if (const auto supported = attribute(DeviceAttribute::kGlobalL1Supported))
      info_.global_l1_supported = *supported != 0;
  }

  const Driver& driver_;
  DeviceHandle device_;
  const NvmlReadings& nvml_;
  DeviceInfo info_;
};

}  // namespace

std::optional<std::uint64_t> device_attribute(const Driver& driver, DeviceHandle device, DeviceAttribute attribute) {
  int value = 0;
  if (driver.device_get_attribute(&value, attribute, device) != kSuccess || value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

DeviceInfo read_device_info(const Driver& driver, DeviceHandle device, const std::string& pci_address,
                            const NvmlReadings& nvml) {
  return InfoReader(driver, device, nvml).read(pci_address);
}

}  // namespace gputopo::cuda
