// The general and compute attributes: what the device says of itself, and what follows from it.
#pragma once

#include "gputopo/device.h"
#include "gputopo/model.h"

namespace gputopo {

void fill_general(const DeviceInfo& info, Topology& topology);

// Adds `theoretical_bytes_per_second` to the bandwidths that something else in the topology bounds: device memory by
// its bus, shared memory by its banks.
void add_theoretical_bandwidths(Topology& topology);

}  // namespace gputopo
