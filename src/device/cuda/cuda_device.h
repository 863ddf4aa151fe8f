// NVIDIA GPUs, through the driver, which is found at run time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/device.h"

namespace gputopo {

// Opens the GPU that the driver counts as `ordinal`. Throws DeviceError, which says what is wrong and what to do.
[[nodiscard]] std::unique_ptr<Device> open_cuda_device(int ordinal);

// Whether `spec` names a MIG instance: "cuda:MIG-UUID".
[[nodiscard]] bool names_mig_instance(std::string_view spec);
// Opens the MIG instance of that UUID ("MIG-..."). Throws DeviceError if the driver does not show it to this process.
[[nodiscard]] std::unique_ptr<Device> open_mig_instance(const std::string& uuid);

// All instances that the management library knows, even those that the driver does not show.
[[nodiscard]] std::vector<DeviceListing> list_mig_devices();

// Lists the driver's GPUs; empty without a driver. `problem` receives one line if a driver exists but cannot be used,
// and is cleared otherwise.
[[nodiscard]] std::vector<DeviceListing> list_cuda_devices(std::string& problem);

// True if libcuda.so.1 can be loaded and shows a GPU.
[[nodiscard]] bool cuda_driver_present();
// Whether NVIDIA's kernel driver shows GPUs; needs none of its libraries. Some systems have GPUs that it does not show.
[[nodiscard]] bool kernel_has_nvidia_gpus();
// A process that uses NVIDIA GPUs has loaded one of these libraries.
[[nodiscard]] std::vector<std::string> cuda_libraries();

}  // namespace gputopo
