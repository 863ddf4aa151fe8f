// What operations take, and how many an SM does at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gputopo/operation.h"
#include "probe/lab.h"

namespace gputopo::probe {

// As many as a block may have, on this device.
[[nodiscard]] std::uint32_t most_operation_warps(const DeviceInfo& info);

struct OperationFinding {
  Attribute latency;
  Attribute throughput;
};

// One for each, in their order. Throws NotSupportedError where the device runs no such programs; one that it cannot do,
// or that the samples do not decide, has its reason.
[[nodiscard]] std::vector<OperationFinding> measure_operations(Lab& lab, std::span<const OperationId> operations);

}  // namespace gputopo::probe
