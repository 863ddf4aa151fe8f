// The kernel that runs instruction programs: one long stretch of straight-line code, of which every step runs a part.
// What the timing depends on, and a test checks in the machine code:
// - The stretch and the loop over the passes are one piece of assembly in a subsection of its own behind all kernels,
// so
//   that what a pass runs lies in one piece and no branch of the compiler's has to reach over it.
// - The stretch is multiplications and additions in turn on kChains registers, in the encoding of 8 bytes, and every
//   kCodeBlockInstructions a countdown with a branch to the end of the pass: all blocks are alike.
// - The lead stands in front of both, more of the same arithmetic with a jump over the loop.
// - A branch reaches 128 KiB, so the back half of the stretch leaves through a jump behind it.
// - How large a block is the assembler says: the kernel "code_sizes" hands it out.
// - A compiler may clone what calls the stretch. It stands there once all the same: only its first definition counts,
//   and it works on registers of its own, not on what the compiler would choose for each clone.
#pragma once

#include <string>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

// Kernels "code" (CodeParameters) and "code_sizes", which leaves the bytes of the stretch and of the loop around it
// (u32 each) at the address that it is given.
[[nodiscard]] std::string generate_code_source(const GfxTarget& target);

}  // namespace gputopo::hip
