// What a device can be like, whichever file tells.
#pragma once

#include <string>

#include "gputopo/device.h"

namespace gputopo {

// Throws FormatError that names the field, as PREFIX.FIELD, where it lies beyond file/limits.h or fits no device:
// "info.sm_count: 0 is not between 1 and 4096".
void check_info(const DeviceInfo& info, const std::string& prefix);

// The same of what a driver says, who `call` asked: throws DeviceError.
void check_told_info(const DeviceInfo& info, const std::string& call);
// A number of GPUs that a driver says there are.
void check_device_count(int count, const std::string& call);

}  // namespace gputopo
