// The little that NVIDIA's management library adds, found at run time in libnvidia-ml.so.1. All of it is optional: what
// the library or the device does not tell stays unset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gputopo::cuda {

struct NvmlReadings {
  std::string driver_version;  // "580.159.04"; empty if unknown
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> sm_clock_max_mhz;
  std::optional<unsigned> memory_clock_mhz;
  std::optional<unsigned> memory_clock_max_mhz;
  std::optional<std::uint64_t> throttle_reasons;  // bits of nvmlClocksEventReasons
  std::optional<bool> mig_enabled;
};

// Reads the device at a PCI address ("0000:0f:00.0"). Never throws for what the library lacks.
[[nodiscard]] NvmlReadings read_nvml(const std::string& pci_address);

}  // namespace gputopo::cuda
