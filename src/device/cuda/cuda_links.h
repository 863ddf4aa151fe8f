// The NVIDIA GPUs of this host and what lies between them.
#pragma once

#include <memory>

#include "gputopo/links.h"

namespace gputopo::cuda {

// Throws DeviceError as Driver::load().
[[nodiscard]] std::unique_ptr<Links> open_cuda_links();

}  // namespace gputopo::cuda
