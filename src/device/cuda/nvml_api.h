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
  std::optional<unsigned> processes;     // that have a context on it; a container may not see them
  std::optional<unsigned> busy_percent;  // of the last second or so
  std::optional<bool> mig_enabled;
  std::optional<bool> persistence_mode;
  std::optional<double> power_limit_watts;  // that is enforced
};

// Reads the device at a PCI address ("0000:0f:00.0"). Never throws for what the library lacks.
[[nodiscard]] NvmlReadings read_nvml(const std::string& pci_address);
// What holds its clocks down just now: bits of nvmlClocksEventReasons; 0 where nothing does or it does not tell.
[[nodiscard]] std::uint64_t read_throttle_reasons(const std::string& pci_address);

// One line if others were at work, from what was read before this process had a context; else empty.
[[nodiscard]] std::string busy_warning(const NvmlReadings& before);
// One line if heat or power holds the clocks down; else empty.
[[nodiscard]] std::string throttle_warning(std::uint64_t reasons);

}  // namespace gputopo::cuda
