#include "device/hip/device_info.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include "device/driver/host_room.h"
#include "device/driver/sysfs.h"
#include "device/launch/launch_gpu.h"
#include "gputopo/error.h"

namespace gputopo::hip {
namespace {

constexpr std::uint32_t kLanesPerSimd = 16;  // of GCN and CDNA (AMD's instruction set references)

// The share that one device has of a GPU that is divided into devices. Memory is divided into as many parts as its mode
// says: NPS4 has four, for any number of devices.
GpuInstance instance_of(const DeviceInfo& info, const KfdNode& node) {
  constexpr std::string_view kMemoryMode = "NPS";
  const std::string memory = info.memory_partition_mode.value_or("");
  if (node.partitions < 2) return {};
  GpuInstance instance{.compute_slices = node.xcc_count, .compute_slices_of_gpu = node.partitions * node.xcc_count};
  if (info.compute_partition_mode) {
    instance.profile = *info.compute_partition_mode + (memory.empty() ? "" : "/" + memory);
  }
  if (!memory.starts_with(kMemoryMode)) return instance;
  const int parts = std::atoi(memory.c_str() + kMemoryMode.size());
  if (parts < 1) return instance;
  instance.memory_slices = 1;
  instance.memory_slices_of_gpu = static_cast<std::uint32_t>(parts);
  return instance;
}

class InfoReader {
 public:
  InfoReader(const Runtime& runtime, int ordinal, const KfdNode& node, const GfxTarget& target)
      : runtime_(runtime), ordinal_(ordinal), node_(node), target_(target) {}

  DeviceInfo read(const std::string& pci_address) {
    info_.backend = "hip";
    info_.vendor = "AMD";
    info_.pci_address = pci_address;
    info_.name = runtime_.device_name(ordinal_);
    info_.architecture = fmt::format("{} ({})", target_.architecture, target_.name);
    read_setup();
    read_compute_units();
    read_limits();
    read_memories();
    info_.spaces.assign(std::begin(kHipSpaces), std::end(kHipSpaces));
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    runtime_.check(runtime_.mem_get_info(&free_bytes, &total_bytes), "hipMemGetInfo");
    const bool is_integrated = attribute(DeviceAttribute::kIntegrated).value_or(0) != 0;
    launch::set_memory(info_, free_bytes, total_bytes, is_integrated ? std::optional(host_room_bytes()) : std::nullopt);
    return std::move(info_);
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> attribute(DeviceAttribute which) const {
    return device_attribute(runtime_, ordinal_, which);
  }

  // The kernel driver may report a clock that the runtime does not.
  [[nodiscard]] std::optional<double> clock_mhz(DeviceAttribute khz, std::uint32_t kernels_mhz) const {
    if (const auto value = attribute(khz)) return static_cast<double>(*value) / 1e3;
    return kernels_mhz > 0 ? std::optional<double>(kernels_mhz) : std::nullopt;
  }

  void read_setup() {
    const std::string root = sysfs_root();
    const std::optional<std::string> module_version = read_amdgpu_version(root);
    info_.driver_version = module_version ? fmt::format("{} (amdgpu {})", runtime_.version_text(), *module_version)
                                          : runtime_.version_text();
    info_.compute_partition_mode = read_pci_attribute(root, info_.pci_address, "current_compute_partition");
    info_.memory_partition_mode = read_pci_attribute(root, info_.pci_address, "current_memory_partition");
    info_.instance = instance_of(info_, node_);
    info_.pci_link = read_pci_link(root, info_.pci_address);
    info_.power_limit_watts = read_power_limit_watts(root, info_.pci_address);
  }

  void read_compute_units() {
    info_.sm_count = static_cast<std::uint32_t>(attribute(DeviceAttribute::kSmCount).value_or(1));
    info_.warp_size = static_cast<std::uint32_t>(attribute(DeviceAttribute::kWarpSize).value_or(kWavefront));
    if (info_.warp_size != kWavefront) {
      throw NotSupportedError(fmt::format("{} has wavefronts of {} threads, but gputopo's kernels need {}", info_.name,
                                          info_.warp_size, kWavefront));
    }
    if (node_.simds_per_cu > 0) {
      info_.simds_per_sm = node_.simds_per_cu;
      info_.cores_per_sm = node_.simds_per_cu * kLanesPerSimd;
    }
    info_.xcd_count = static_cast<std::uint32_t>(attribute(DeviceAttribute::kXccCount).value_or(node_.xcc_count));
    if (node_.cus_physical > 0) info_.sms_physical = node_.cus_physical;
    info_.sm_clock_max_mhz = clock_mhz(DeviceAttribute::kClockKhz, node_.clock_max_mhz);
  }

  void read_limits() {
    info_.max_threads_per_block = attribute(DeviceAttribute::kMaxThreadsPerBlock);
    info_.max_threads_per_sm = attribute(DeviceAttribute::kMaxThreadsPerSm);
    // For blocks of one wavefront. The runtime's own limit counts blocks of the largest size.
    if (node_.simds_per_cu > 0 && node_.waves_per_simd > 0)
      info_.max_blocks_per_sm = std::uint64_t{node_.simds_per_cu} * node_.waves_per_simd;
    info_.registers_per_block = attribute(DeviceAttribute::kRegistersPerBlock);
    info_.registers_per_sm = attribute(DeviceAttribute::kRegistersPerSm);
    info_.shared_bytes_per_block = attribute(DeviceAttribute::kSharedBytesPerBlock);
    // Some versions multiply it by the number of CUs. A CU has as much as a block may use.
    info_.shared_bytes_per_sm = attribute(DeviceAttribute::kSharedBytesPerSm);
    if (info_.shared_bytes_per_sm && info_.shared_bytes_per_block &&
        *info_.shared_bytes_per_sm == *info_.shared_bytes_per_block * info_.sm_count && info_.sm_count > 1) {
      info_.shared_bytes_per_sm = info_.shared_bytes_per_block;
    }
    if (!info_.shared_bytes_per_sm) info_.shared_bytes_per_sm = info_.shared_bytes_per_block;
  }

  void read_memories() {
    if (const auto clock = clock_mhz(DeviceAttribute::kMemoryClockKhz, node_.memory_clock_max_mhz))
      info_.memory_clock_max_mhz = *clock * target_.memory_clock_factor;
    if (const auto bits = attribute(DeviceAttribute::kMemoryBusBits)) {
      info_.memory_bus_bits = static_cast<std::uint32_t>(*bits);
    } else if (node_.memory_bus_bits > 0) {
      info_.memory_bus_bits = node_.memory_bus_bits;
    }
    if (node_.gds_bytes > 0) info_.gds_bytes = node_.gds_bytes;
    const std::optional<std::uint64_t> l2 = node_.cache_bytes(2);
    info_.l2_bytes = l2 ? l2 : attribute(DeviceAttribute::kL2Bytes);
    info_.l3_bytes = node_.cache_bytes(3);
  }

  const Runtime& runtime_;
  int ordinal_;
  const KfdNode& node_;
  const GfxTarget& target_;
  DeviceInfo info_;
};

}  // namespace

std::optional<std::uint64_t> device_attribute(const Runtime& runtime, int ordinal, DeviceAttribute attribute) {
  int value = 0;
  if (runtime.device_get_attribute(&value, attribute, ordinal) != kSuccess || value <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

DeviceInfo read_device_info(const Runtime& runtime, int ordinal, const std::string& pci_address, const KfdNode& node,
                            const GfxTarget& target) {
  return InfoReader(runtime, ordinal, node, target).read(pci_address);
}

}  // namespace gputopo::hip
