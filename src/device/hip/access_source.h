// The kernels that run access programs: all lanes of every wavefront follow a chain of their own through the working
// set. What the timing depends on, and a test checks in the machine code:
// - A chain with all its readings of the clock is one piece of assembly: two readings, of which the second is the start
//   and the difference what a reading costs; the accesses; the wait until the last of them has ended; the end.
// - Every access but a store waits for the one before. The loop's own instructions stand behind an access and before
//   the next one's wait, so that they take no time of their own.
// - The piece is passed once untimed, so that its code is in the instruction cache.
#pragma once

#include <string>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

// The kernels of launch::kAccessKernels and "fill_links". Arguments: AccessParameters, blocks, threads of a block.
[[nodiscard]] std::string generate_access_source(const GfxTarget& target);

}  // namespace gputopo::hip
