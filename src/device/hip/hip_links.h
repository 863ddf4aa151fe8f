// The AMD GPUs of this host and the links between them.
#pragma once

#include <memory>

#include "gputopo/links.h"

namespace gputopo::hip {

// Throws DeviceError like Runtime::load().
[[nodiscard]] std::unique_ptr<Links> open_hip_links();

}  // namespace gputopo::hip
