// What operations take, and how many an SM does at a time.
#pragma once

#include <span>
#include <vector>

#include "gputopo/operation.h"
#include "probe/bench/lab.h"

namespace gputopo::probe {

struct OperationFinding {
  Attribute latency;
  Attribute throughput;
};

// One for each, in their order. Throws NotSupportedError where the device runs no such programs; one that it cannot do,
// or that the samples do not decide, has its reason.
[[nodiscard]] std::vector<OperationFinding> measure_operations(Lab& lab, std::span<const OperationId> operations);

// Their latencies alone, as above.
[[nodiscard]] std::vector<Attribute> measure_operation_latencies(Lab& lab, std::span<const OperationId> operations);

}  // namespace gputopo::probe
