// Sustained rates: the burst of a peak runs for seconds, as in programs that compute.
#pragma once

#include "probe/bench/lab.h"
#include "probe/compute/operation_peaks.h"

namespace gputopo::probe {

// The part of a peak that is kept up for two seconds, when heat and power have their say: of the second one, in
// operations of arithmetic a second.
[[nodiscard]] Attribute measure_sustained(Lab& lab, const PeakFinding& peak);

}  // namespace gputopo::probe
