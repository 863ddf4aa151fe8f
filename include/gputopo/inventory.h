// The GPUs that a host's PCI bus shows, whether a driver shows them or not.
#pragma once

#include <string>
#include <vector>

namespace gputopo {

struct SystemGpu {
  std::string pci_address;  // "0000:1b:00.0"
  std::string vendor;       // "NVIDIA", "AMD"
  std::string driver;       // kernel driver; empty: none is bound
  friend bool operator==(const SystemGpu&, const SystemGpu&) = default;
};

// NVIDIA's GPUs and AMD's accelerators in sysfs, in order of address. AMD's display adapters are left out, since most
// are graphics units of CPUs. Empty if sysfs is not readable.
[[nodiscard]] std::vector<SystemGpu> read_system_gpus();

// True if an environment variable restricts the GPUs that drivers show to this process.
[[nodiscard]] bool are_gpus_restricted();

}  // namespace gputopo
