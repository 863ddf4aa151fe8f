// The peak rate of an operation on all SMs: the throughput of the table, in the fastest way, each at its own clock.
#pragma once

#include <span>
#include <vector>

#include "gputopo/operation.h"
#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

struct PeakFinding {
  OperationId operation = OperationId::kFmaF32;
  OperationProgram program;       // the fastest program
  double arithmetic_per_clk = 0;  // of an SM; 0: not measured
  Attribute peak;                 // arithmetic operations of all SMs per second; the unit is left empty
};

// The peak rate of all SMs for each operation, at the clock of its run. One batch for all, because the device compiles
// many kernels at a time.
[[nodiscard]] std::vector<PeakFinding> measure_peaks(ProbeRunner& runner, std::span<const OperationId> operations);

}  // namespace gputopo::probe
