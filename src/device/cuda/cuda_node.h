// Describes the NVIDIA GPUs of this host and the links between them.
#pragma once

#include "device/cuda/driver_api.h"
#include "gputopo/links.h"

namespace gputopo::cuda {

// Asks the driver, the management library and sysfs. Creates no context on a GPU.
[[nodiscard]] NodeInfo read_cuda_node(const Driver& driver);

}  // namespace gputopo::cuda
