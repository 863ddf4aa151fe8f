// The AMD GPUs of this host, and what lies between them.
#pragma once

#include <memory>

#include "gputopo/links.h"

namespace gputopo::hip {

// Throws DeviceError as Runtime::load().
[[nodiscard]] std::unique_ptr<Links> open_hip_links();

}  // namespace gputopo::hip
