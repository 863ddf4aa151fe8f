// NVIDIA GPUs through the driver, found at run time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/device.h"

namespace gputopo {

// Opens the GPU that the driver counts as `ordinal`. Throws DeviceError that says why it cannot be used and what to do.
[[nodiscard]] std::unique_ptr<Device> open_cuda_device(int ordinal);

// Whether `spec` names a MIG instance: "cuda:MIG-UUID".
[[nodiscard]] bool names_mig_instance(std::string_view spec);
// The MIG instance of that UUID ("MIG-..."). Throws DeviceError where the driver does not show it to this process.
[[nodiscard]] std::unique_ptr<Device> open_mig_instance(const std::string& uuid);

// All instances that the management library knows, whether the driver shows them or not.
[[nodiscard]] std::vector<DeviceListing> list_mig_devices();

// The driver's GPUs; empty without a driver. `problem` receives one line when a driver is there but cannot be used, and
// is cleared otherwise.
[[nodiscard]] std::vector<DeviceListing> list_cuda_devices(std::string& problem);

// True if libcuda.so.1 can be loaded and shows a GPU.
[[nodiscard]] bool cuda_driver_present();
// Whether NVIDIA's kernel driver shows GPUs, which is found out without its libraries. There are systems on which it
// does not, and has some nevertheless.
[[nodiscard]] bool kernel_has_nvidia_gpus();
// The libraries of which a process has one loaded that uses NVIDIA's GPUs.
[[nodiscard]] std::vector<std::string> cuda_libraries();

}  // namespace gputopo
