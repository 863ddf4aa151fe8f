// The AMD GPUs of this host, and what the system says of what lies between them.
#pragma once

#include <memory>

#include "gputopo/links.h"

namespace gputopo::hip {

// Its transfers are not measured yet: each throws NotSupportedError. Throws DeviceError as Runtime::load().
[[nodiscard]] std::unique_ptr<Links> open_hip_links();

}  // namespace gputopo::hip
