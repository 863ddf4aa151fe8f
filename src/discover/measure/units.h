// The steps for the units that compute: registers and warps, clocks, branches and barriers, peaks of arithmetic.
#pragma once

#include <vector>

#include "gputopo/device.h"
#include "gputopo/operation.h"

namespace gputopo {

// The operations whose peaks such a GPU may have; they are measured together. If the GPU has none for a peak, one
// operation stands for it and is refused.
[[nodiscard]] std::vector<OperationId> peak_operations(const DeviceInfo& info);

}  // namespace gputopo
