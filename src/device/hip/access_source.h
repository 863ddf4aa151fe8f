// The kernels that run access programs: each lane of every wavefront follows a chain of its own through the working
// set. A test checks in the machine code what the timing depends on:
// - A chain with all its clock readings is one piece of assembly: two readings (the second is the start, and their
//   difference the cost of a reading), the accesses, the wait for the last of them, the end.
// - Every access except a store waits for the one before. The loop's own instructions stand between an access and the
//   next one's wait, so they take no extra time.
// - The piece runs once untimed, which brings its code into the instruction cache.
#pragma once

#include <string>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

// The kernels of launch::kAccessKernels and "fill_links". Arguments: AccessParameters, blocks, threads of a block.
[[nodiscard]] std::string generate_access_source(const GfxTarget& target);

}  // namespace gputopo::hip
