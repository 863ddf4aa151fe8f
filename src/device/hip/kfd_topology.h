// Facts about a GPU that the amdgpu kernel driver publishes in sysfs: the topology of KFD, the processes that use the
// GPU, its power and what limits its clocks. Reading them needs no library, permission or context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/device.h"

namespace gputopo::hip {

struct KfdCache {
  std::uint32_t level = 0;
  bool data = false;
  std::uint64_t size_bytes = 0;  // of one instance
  std::uint64_t line_bytes = 0;  // 0 if the driver does not report it
};

struct KfdNode {
  std::string gfx_name;      // "gfx90a"
  std::uint64_t gpu_id = 0;  // KFD's own; 0 if not reported
  std::uint32_t simd_count = 0;
  std::uint32_t simds_per_cu = 0;
  std::uint32_t waves_per_simd = 0;
  std::uint32_t xcc_count = 1;
  std::uint32_t partitions = 1;    // devices that the GPU is divided into, including this one
  std::uint32_t cus_physical = 0;  // of all shader arrays, including CUs that are switched off; 0 if not reported
  // These are 0 if not reported. The memory clock is in the driver's terms.
  std::uint32_t clock_max_mhz = 0;
  std::uint32_t memory_clock_max_mhz = 0;
  std::uint32_t memory_bus_bits = 0;
  std::uint64_t gds_bytes = 0;  // global data share, of all CUs
  std::vector<KfdCache> caches;

  // The size of one data cache of a level; empty if there is none.
  [[nodiscard]] std::optional<std::uint64_t> cache_bytes(std::uint32_t level) const;
};

// "gfx90a" for 90010: major * 10000 + minor * 100 + stepping, the last in hexadecimal.
[[nodiscard]] std::string gfx_name_of(std::uint32_t gfx_target_version);

// The node of the GPU at a PCI address ("0000:c1:00.0"); empty if KFD does not list it or cannot be read.
[[nodiscard]] std::optional<KfdNode> read_kfd_node(const std::string& root, const std::string& pci_address);

// The same, but throws DeviceError, with advice, if there is no node.
[[nodiscard]] KfdNode require_kfd_node(const std::string& root, const std::string& pci_address);

struct KfdLink {
  std::string kind;  // "xgmi", "pcie"; empty if unknown
  // Only for xGMI. Unset for partitions of a GPU, and for pairs whose packets pass through a third GPU.
  std::optional<std::uint32_t> lanes;
  std::optional<double> lane_bytes_per_second;
};
// The link between two GPUs. Two GPUs in KFD's topology without a link between them are joined by PCIe.
[[nodiscard]] KfdLink read_kfd_link(const std::string& root, const std::string& from_pci_address,
                                    const std::string& to_pci_address);

// The version of the amdgpu kernel module; empty if it is part of the kernel.
[[nodiscard]] std::optional<std::string> read_amdgpu_version(const std::string& root);

// The GPU's power limit in watts; empty if none can be read.
[[nodiscard]] std::optional<double> read_power_limit_watts(const std::string& root, const std::string& pci_address);

// The number of other processes that have memory on a GPU. A process that has only opened the GPU is not counted,
// because it may be this one: in a container, the kernel and the process use different numbers for it.
[[nodiscard]] std::uint32_t other_processes(const std::string& root, std::uint64_t gpu_id);

// The cause that keeps the GPU's clocks below their maximum: its power limit or a driver setting; empty if none does.
[[nodiscard]] std::string throttle_reason(const std::string& root, const std::string& pci_address);

// ECC errors of all blocks since the driver was loaded, PCIe replays, and the default power limit.
[[nodiscard]] DeviceHealth read_health(const std::string& root, const std::string& pci_address);

}  // namespace gputopo::hip
