// The NVIDIA GPUs of this host and what lies between them.
#pragma once

#include <memory>

#include "device/cuda/driver_api.h"
#include "gputopo/links.h"

namespace gputopo::cuda {

// Throws DeviceError as Driver::load().
[[nodiscard]] std::unique_ptr<Links> open_cuda_links();

// What the driver, the management library and sysfs say; no GPU gets a context.
[[nodiscard]] NodeInfo read_cuda_node(const Driver& driver);

}  // namespace gputopo::cuda
