// Asynchronous bulk copies (TMA) from device memory to shared memory, beside plain loads of the same bytes.
// Latency: a thread issues a copy, waits until its barrier in shared memory says that it has arrived, issues the next.
// Bandwidth: a thread of each SM keeps so many copies of so many bytes under way. What fools them: bytes that L2 holds
// where memory is meant, so that no byte from memory is copied twice.
#pragma once

#include "probe/bench/lab.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_bulk_copy_latency(Lab& lab);
[[nodiscard]] Attribute measure_bulk_copy_bandwidth(Lab& lab);

}  // namespace gputopo::probe
