// What operations take, and how many an SM does at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gputopo/operation.h"
#include "probe/bench/lab.h"

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

// Their latencies alone, as above.
[[nodiscard]] std::vector<Attribute> measure_operation_latencies(Lab& lab, std::span<const OperationId> operations);

struct PeakFinding {
  OperationId operation = OperationId::kFmaF32;
  OperationProgram program;       // that does most
  double arithmetic_per_clk = 0;  // of an SM; 0: nothing was measured
  Attribute peak;                 // operations of arithmetic of all SMs a second, its unit left empty
};

// Of which the first of measure_operations() and of measure_peaks() are, for Device::expect().
[[nodiscard]] std::vector<Program> expected_of_operations(std::span<const OperationId> operations);
[[nodiscard]] std::vector<Program> expected_of_peaks(const DeviceInfo& info, std::span<const OperationId> operations);

// The most that all SMs do of each, at the clock that they ran at. All in one batch, for the device compiles many at a
// time.
[[nodiscard]] std::vector<PeakFinding> measure_peaks(Lab& lab, std::span<const OperationId> operations);

// What of a peak is kept up for two seconds, when heat and power have their say: of the second one, in operations of
// arithmetic a second.
[[nodiscard]] Attribute measure_sustained(Lab& lab, const PeakFinding& peak);

}  // namespace gputopo::probe
