// Describes a GPU by what the driver, NVML and the kernel report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/cuda/driver_api.h"
#include "device/cuda/nvml_api.h"
#include "gputopo/device.h"

namespace gputopo::cuda {

// Empty if the driver does not know the attribute.
[[nodiscard]] std::optional<std::uint64_t> device_attribute(const Driver& driver, DeviceHandle device,
                                                            DeviceAttribute attribute);

// Needs a current context of the device.
[[nodiscard]] DeviceInfo read_device_info(const Driver& driver, DeviceHandle device, const std::string& pci_address,
                                          const NvmlReadings& nvml);

}  // namespace gputopo::cuda
