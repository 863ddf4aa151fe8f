// Describes the NVIDIA GPUs of this host and what lies between them.
#pragma once

#include "device/cuda/driver_api.h"
#include "gputopo/links.h"

namespace gputopo::cuda {

// Asks the driver, the management library and sysfs; no GPU gets a context.
[[nodiscard]] NodeInfo read_cuda_node(const Driver& driver);

}  // namespace gputopo::cuda
