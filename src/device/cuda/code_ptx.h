// The kernel that runs instruction programs: one long stretch of straight-line code, compiled once, of which every step
// runs a part. What the timing depends on, and a test checks in the machine code:
// - The stretch is multiplications and additions in turn on kChains registers, which no compiler may fold because each
//   rounds, and every kCodeBlockInstructions a test of the block's number with a branch to the next pass.
// - The end of a pass stands right in front of the stretch, where the next begins: what a pass runs is one piece (but
//   see let_threads_differ).
// - The lead stands between them in a kernel of its own. A pass can begin at so many places there that the compiler
//   makes every few instructions wait for those before.
// - The stretch loads no constants, and what is around it no more than the compiler's table of entries, except where a
//   step asks for them.
#pragma once

#include <cstdint>
#include <string>

#include "device/cuda/ptx_target.h"

namespace gputopo::cuda {

// The module with the kernels "code" (the stretch of kMaxCodeInstructions; CodeParameters) and "lead_code", the lead
// and the first kMaxCodeBehindLead of the stretch: what their sizes differ by is nearly all blocks. And
// "constant_bank". What stands behind the blocks, and what is fetched ahead of it, must not lie in the sets of the
// first blocks: both kernels are 6 KiB shorter than a few times a power of two.
[[nodiscard]] std::string generate_code_ptx(const PtxTarget& target);

// The module with the kernels "near_jumps", "far_jumps", "aligned_jumps" and "few_near_jumps", the first kFewNearJumps
// blocks of the near ones: what its size and that of all differ by is nearly all blocks.
inline constexpr std::uint32_t kFewNearJumps = 64;
[[nodiscard]] std::string generate_jump_ptx(const PtxTarget& target);
// The module with the kernels "apart_operands", "near_operands" and "close_operands", and "constant_bank".
[[nodiscard]] std::string generate_operand_ptx(const PtxTarget& target);

}  // namespace gputopo::cuda
