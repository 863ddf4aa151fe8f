// The most that all SMs do of an operation: the table's throughput, of the ways that do most, each at a clock of its
// own.
#pragma once

#include <span>
#include <vector>

#include "gputopo/operation.h"
#include "probe/bench/lab.h"

namespace gputopo::probe {

struct PeakFinding {
  OperationId operation = OperationId::kFmaF32;
  OperationProgram program;       // that does most
  double arithmetic_per_clk = 0;  // of an SM; 0: nothing was measured
  Attribute peak;                 // operations of arithmetic of all SMs a second, its unit left empty
};

// The most that all SMs do of each, at the clock that they ran at. All in one batch, for the device compiles many at a
// time.
[[nodiscard]] std::vector<PeakFinding> measure_peaks(Lab& lab, std::span<const OperationId> operations);

}  // namespace gputopo::probe
