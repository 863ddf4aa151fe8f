// The general and compute attributes: what the device says of itself, and what follows from it.
#pragma once

#include "gputopo/device.h"
#include "gputopo/model.h"

namespace gputopo {

void fill_general(const DeviceInfo& info, Topology& topology);

}  // namespace gputopo
