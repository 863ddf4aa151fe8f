// AMD GPUs, through the HIP runtime.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/device.h"

namespace gputopo {

// Throws DeviceError if the runtime or the GPU is missing, NotSupportedError for an architecture without kernels.
[[nodiscard]] std::unique_ptr<Device> open_hip_device(int ordinal);
// `problem`: why a runtime that exists lists nothing, else empty.
[[nodiscard]] std::vector<DeviceListing> list_hip_devices(std::string& problem);
// The first GPU that has kernels; empty without a runtime or without such a GPU.
[[nodiscard]] std::optional<int> first_hip_device();

// Whether AMD's kernel driver is present, without which there is no GPU.
[[nodiscard]] bool hip_driver_present();
// A process that uses AMD GPUs has loaded one of these libraries.
[[nodiscard]] std::vector<std::string> hip_libraries();

}  // namespace gputopo
