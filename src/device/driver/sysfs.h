// What the kernel publishes of PCI devices in sysfs. Needs no library, no permission and no context.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "gputopo/device.h"

namespace gputopo {

// The folder that stands for /sys: GPUTOPO_SYSFS, or "/sys".
[[nodiscard]] std::string sysfs_root();

// The first line of a file; nothing where there is none.
[[nodiscard]] std::optional<std::string> read_line(const std::filesystem::path& path);

// The number that a file begins with; nothing where it begins with none.
[[nodiscard]] std::optional<std::uint64_t> read_number(const std::filesystem::path& path);

// Bytes of a line of meminfo, of the host or of a NUMA node: "MemTotal:". Nothing where there is no such line.
[[nodiscard]] std::optional<std::uint64_t> read_meminfo(const std::filesystem::path& path, std::string_view label);

// The folder of the device at a PCI address ("0000:c1:00.0"). The partitions of an AMD GPU have the functions of one
// PCI device as their addresses, and only function 0 is really there.
[[nodiscard]] std::filesystem::path pci_folder(const std::string& root, const std::string& pci_address);

// The one line of a file of that folder ("current_compute_partition": "SPX"); nothing where it has none.
[[nodiscard]] std::optional<std::string> read_pci_attribute(const std::string& root, const std::string& pci_address,
                                                            const std::string& name);

[[nodiscard]] PciLink read_pci_link(const std::string& root, const std::string& pci_address);

// "32.0 GT/s PCIe" is of generation 5; nothing for what is no speed of any.
[[nodiscard]] std::optional<std::uint32_t> pcie_generation_of(const std::string& speed);

}  // namespace gputopo
