// The latency and throughput of operations.
#pragma once

#include <span>
#include <vector>

#include "gputopo/operation.h"
#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

struct OperationFinding {
  Attribute latency;
  Attribute throughput;
};

// One finding per operation, in order. Throws NotSupportedError if the device cannot run such programs. A single
// operation that the device lacks, or that the samples do not decide, has its reason instead.
[[nodiscard]] std::vector<OperationFinding> measure_operations(ProbeRunner& runner,
                                                               std::span<const OperationId> operations);

// Only their latencies, in the same way.
[[nodiscard]] std::vector<Attribute> measure_operation_latencies(ProbeRunner& runner,
                                                                 std::span<const OperationId> operations);

}  // namespace gputopo::probe
