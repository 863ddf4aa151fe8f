// Asynchronous bulk copies (TMA) from device memory to shared memory, next to plain loads of the same bytes. Latency:
// a thread issues a copy, waits until the copy's barrier in shared memory signals its arrival, and issues the next.
// Bandwidth: a thread of each SM keeps several copies in flight. What fools them: bytes that L2 still holds where
// memory is meant. Therefore no byte is copied from memory twice.
#pragma once

#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_bulk_copy_latency(ProbeRunner& runner);
[[nodiscard]] Attribute measure_bulk_copy_bandwidth(ProbeRunner& runner);

}  // namespace gputopo::probe
