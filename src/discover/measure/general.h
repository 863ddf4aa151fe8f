// The general and compute attributes: what the device says of itself, and what follows from it.
#pragma once

#include <optional>

#include "gputopo/device.h"
#include "gputopo/model.h"

namespace gputopo {

void fill_general(const DeviceInfo& info, Topology& topology);

// Of device memory, by its clock and its bus; nothing where the vendor's interface does not tell these.
[[nodiscard]] std::optional<double> theoretical_memory_bytes_per_second(const DeviceInfo& info);

// Adds `theoretical_bytes_per_second` to the bandwidths that something else in the topology bounds: device memory by
// its bus, shared memory by its banks, and so what is read of a cache that is carved out of the same memory.
void add_theoretical_bandwidths(Topology& topology);

}  // namespace gputopo
