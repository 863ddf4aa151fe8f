// PCI devices in the kernel's sysfs. Needs no library, no permission and no context.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "gputopo/device.h"

namespace gputopo {

// The root in place of /sys: GPUTOPO_SYSFS, or "/sys".
[[nodiscard]] std::string sysfs_root();

// Returns the first line of a file, if there is one.
[[nodiscard]] std::optional<std::string> read_line(const std::filesystem::path& path);

// Returns the number that a file begins with, if there is one.
[[nodiscard]] std::optional<std::uint64_t> read_number(const std::filesystem::path& path);

// Returns the bytes in a line of the host's or a NUMA node's meminfo ("MemTotal:"), if there is such a line.
[[nodiscard]] std::optional<std::uint64_t> read_meminfo(const std::filesystem::path& path, std::string_view label);

// Returns the folder of the device at a PCI address ("0000:c1:00.0"). The partitions of an AMD GPU have the functions
// of one PCI device as their addresses, but only function 0 exists.
[[nodiscard]] std::filesystem::path pci_folder(const std::string& root, const std::string& pci_address);

// Returns the line of a file in that folder ("current_compute_partition": "SPX"), if there is one.
[[nodiscard]] std::optional<std::string> read_pci_attribute(const std::string& root, const std::string& pci_address,
                                                            const std::string& name);

[[nodiscard]] PciLink read_pci_link(const std::string& root, const std::string& pci_address);

// Returns 5 for "32.0 GT/s PCIe", and nothing for a speed of no generation.
[[nodiscard]] std::optional<std::uint32_t> pcie_generation_of(const std::string& speed);

}  // namespace gputopo
