// The kernels that run chase programs on CDNA. A test checks in the machine code what the timing depends on:
// - A timed load is one piece of assembly with both clock readings: s_memtime, the wait for its reading, the load, the
//   wait for its data, s_memtime. Nothing can move in between or out.
// - A load starts once the data of the one before is there (s_waitcnt), so untimed loads take their latency each.
// - The compiler does not unroll loops. Each runs once with its loads off (no lane is active, or a jump skips loads
//   that ignore active lanes), which brings its code into the instruction cache before the counted pass.
// - Descriptors are read and results written past vL1, with vector accesses. The compiler would read them through the
//   scalar cache, which may be under measurement.
// - A scalar branch separates the wavefront that follows the chain from the others: scalar loads ignore active lanes.
#pragma once

#include <string>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

// Kernels "fill", "chase", "spin".
[[nodiscard]] std::string generate_chase_source(const GfxTarget& target);

}  // namespace gputopo::hip
