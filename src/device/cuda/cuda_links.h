// The NVIDIA GPUs of this host and the links between them.
#pragma once

#include <memory>

#include "gputopo/links.h"

namespace gputopo::cuda {

// Throws DeviceError like Driver::load().
[[nodiscard]] std::unique_ptr<Links> open_cuda_links();

}  // namespace gputopo::cuda
