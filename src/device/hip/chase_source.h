// The kernels that run chase programs on CDNA. What the timing depends on, and a test checks in the machine code:
// - A timed load is one piece of assembly with both clock readings: s_memtime, the wait that its reading has come back,
//   the load, the wait that its data has, s_memtime. Nothing can move in between or out.
// - A load is followed by the next one as soon as its data is there (s_waitcnt), so an untimed chain takes its latency
//   a load.
// - Loops are not unrolled by the compiler, and each is passed through once with its loads off (no lane active, or
//   jumped over where a load asks no lanes), so that the pass that counts finds its code in the instruction cache.
// - Descriptors are read and results written past vL1, with vector accesses: the scalar cache, which the compiler would
//   read them through, may be what is measured.
// - The wavefront that follows the chain is told from the others by a scalar branch, because scalar loads do not ask
//   which lanes are active.
#pragma once

#include <string>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

// Kernels "fill", "chase", "spin".
[[nodiscard]] std::string generate_chase_source(const GfxTarget& target);

}  // namespace gputopo::hip
