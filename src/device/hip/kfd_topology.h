// What the amdgpu kernel driver publishes of a GPU in sysfs: the topology of KFD, who uses it, its power and what holds
// its clocks down.
// Needs no library, no permission and no context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gputopo::hip {

struct KfdCache {
  std::uint32_t level = 0;
  bool data = false;
  std::uint64_t size_bytes = 0;  // of one instance
  std::uint64_t line_bytes = 0;  // 0 where the driver does not tell
};

struct KfdNode {
  std::string gfx_name;      // "gfx90a"
  std::uint64_t gpu_id = 0;  // KFD's own; 0 where it does not tell
  std::uint32_t simd_count = 0;
  std::uint32_t simds_per_cu = 0;
  std::uint32_t waves_per_simd = 0;
  std::uint32_t xcc_count = 1;
  std::uint32_t partitions = 1;    // devices that the GPU is divided into, this one among them
  std::uint32_t cus_physical = 0;  // of all shader arrays, with those that are switched off; 0 where it does not tell
  // 0 where it does not tell; of memory as the driver counts its clock.
  std::uint32_t clock_max_mhz = 0;
  std::uint32_t memory_clock_max_mhz = 0;
  std::uint32_t memory_bus_bits = 0;
  std::uint64_t gds_bytes = 0;  // global data share, of all CUs
  std::vector<KfdCache> caches;

  // The size of one data cache of a level; nothing where there is none.
  [[nodiscard]] std::optional<std::uint64_t> cache_bytes(std::uint32_t level) const;
};

// "gfx90a" for 90010: major * 10000 + minor * 100 + stepping, the last in hexadecimal.
[[nodiscard]] std::string gfx_name_of(std::uint32_t gfx_target_version);

// The node of the GPU at a PCI address ("0000:c1:00.0"); nothing where KFD does not list it or cannot be read.
[[nodiscard]] std::optional<KfdNode> read_kfd_node(const std::string& root, const std::string& pci_address);

// The same; throws DeviceError where it is not there, with what to do.
[[nodiscard]] KfdNode require_kfd_node(const std::string& root, const std::string& pci_address);

// What joins one GPU to another, as KFD lists it: "xgmi", "pcie"; empty where it does not tell, as of two that have no
// link of their own.
[[nodiscard]] std::string read_link_kind(const std::string& root, const std::string& from_pci_address,
                                         const std::string& to_pci_address);

// The version of the amdgpu kernel module; nothing for the one that is part of the kernel.
[[nodiscard]] std::optional<std::string> read_amdgpu_version(const std::string& root);

// Watts that the GPU may take; nothing where it has no limit that can be read.
[[nodiscard]] std::optional<double> read_power_limit_watts(const std::string& root, const std::string& pci_address);

// How many processes beside this one have memory on a GPU. One that has only opened it is not counted, because it may
// be this process: the kernel names it by another number than it has in a container of its own.
[[nodiscard]] std::uint32_t other_processes(const std::string& root, std::uint64_t gpu_id);

// What keeps the GPU's clocks from their maximum: its power limit, or a setting of the driver; empty where neither
// does.
[[nodiscard]] std::string what_holds_clocks_down(const std::string& root, const std::string& pci_address);

}  // namespace gputopo::hip
