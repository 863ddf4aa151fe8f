// The device and compute attributes: what the device reports, and what follows from it.
#pragma once

#include <optional>

#include "gputopo/device.h"
#include "gputopo/model.h"

namespace gputopo {

void fill_general(const DeviceInfo& info, Topology& topology);
void fill_health(const DeviceHealth& health, AttributeMap& device);

// Theoretical bandwidth of device memory from its clock and bus width; nothing if the vendor does not report these.
[[nodiscard]] std::optional<double> theoretical_memory_bytes_per_second(const DeviceInfo& info);

}  // namespace gputopo
