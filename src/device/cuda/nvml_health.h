// Faults that NVIDIA's management library counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gputopo/device.h"

namespace gputopo::cuda {

// Current limits of the GPU's clocks: bits of nvmlClocksEventReasons.
[[nodiscard]] std::optional<std::uint64_t> read_throttle_reasons(const std::string& pci_address);
// One line if heat or power limits the clocks, else empty.
[[nodiscard]] std::string throttle_warning(std::uint64_t reasons);

// All but the Xids. `throttle_reasons`: as read while measuring.
[[nodiscard]] DeviceHealth read_nvml_health(const std::string& pci_address,
                                            std::optional<std::uint64_t> throttle_reasons);

}  // namespace gputopo::cuda
