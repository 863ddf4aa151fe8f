// Sustained rates: the burst of a peak runs for seconds, as programs do.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/compute/operation_peaks.h"

namespace gputopo::probe {

// The rate of a peak that a GPU sustains for two seconds, limited by heat and power: arithmetic operations per second
// during the second of these.
[[nodiscard]] Attribute measure_sustained(ProbeRunner& runner, const PeakFinding& peak);

}  // namespace gputopo::probe
