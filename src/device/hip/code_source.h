// The kernel that runs instruction programs: one long stretch of straight-line code. Every step runs a part of it. A
// test checks in the machine code what the timing depends on:
// - The stretch and the loop over the passes are one piece of assembly in a subsection of its own behind all kernels.
//   So a pass runs one piece of code, and no branch of the compiler's has to reach over it.
// - The stretch consists of fused multiply-adds on kChains registers in turn, in the encoding of 8 bytes. Each block of
//   kCodeBlockInstructions ends with a countdown and a branch to the end of the pass, so all blocks are alike.
// - The lead stands in front of both: more of the same arithmetic, with a jump over the loop.
// - A branch reaches 128 KiB, so the back half of the stretch leaves through a jump behind it.
// - The assembler knows the size of a block, and the kernel "code_sizes" reports it.
// - A compiler may clone the caller of the stretch. The stretch still exists once: only its first definition counts,
//   and it works on fixed registers, not on those that the compiler would choose for each clone.
#pragma once

#include <string>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

// Kernels "code" (CodeParameters) and "code_sizes", which writes the bytes of the stretch and of the loop around it
// (u32 each) to the address that it is given.
[[nodiscard]] std::string generate_code_source(const GfxTarget& target);

}  // namespace gputopo::hip
