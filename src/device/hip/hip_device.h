// AMD GPUs through the HIP runtime.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/device.h"

namespace gputopo {

// Throws DeviceError when the runtime or that GPU is not there, NotSupportedError for an architecture without kernels.
[[nodiscard]] std::unique_ptr<Device> open_hip_device(int ordinal);
// `problem`: why a runtime that is there lists nothing; empty else.
[[nodiscard]] std::vector<DeviceListing> list_hip_devices(std::string& problem);
// The first that there are kernels for; nothing without a runtime or without such a GPU.
[[nodiscard]] std::optional<int> first_hip_device();

// Whether the kernel has AMD's driver, without which there is no GPU to ask for.
[[nodiscard]] bool hip_driver_is_there();
// The libraries of which a process has one loaded that uses AMD's GPUs.
[[nodiscard]] std::vector<std::string> hip_libraries();

}  // namespace gputopo
