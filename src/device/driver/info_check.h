// Checks what any file or driver says of a device.
#pragma once

#include <string>

#include "gputopo/device.h"

namespace gputopo {

// Throws FormatError for a field beyond file/limits.h or one that fits no device. The message names it as PREFIX.FIELD:
// "info.sm_count: 0 is not between 1 and 4096".
void check_info(const DeviceInfo& info, const std::string& prefix);

// The same for what a driver answered to `call`. Throws DeviceError.
void check_reported_info(const DeviceInfo& info, const std::string& call);
// Checks the number of GPUs that a driver reports.
void check_device_count(int count, const std::string& call);

}  // namespace gputopo
