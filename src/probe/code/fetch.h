// The size of a fetch, from jumps over few blocks, which the nearest cache holds, at every offset in a fetch.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/code/jumps.h"

namespace gputopo::probe {

// The nearest cache must hold all blocks. Throws Inconclusive, or NotSupportedError if the device cannot run these.
[[nodiscard]] Attribute measure_fetch_size(ProbeRunner& runner, const CodeJumps& jumps, bool keep_samples);

}  // namespace gputopo::probe
