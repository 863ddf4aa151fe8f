// The kernel that runs instruction programs: one long stretch of straight-line code, compiled once. Every step runs a
// part of it. A test checks in the machine code what the timing depends on:
// - The stretch consists of fused multiply-adds on kChains registers in turn, which no compiler may fold because each
//   rounds. Each block of kCodeBlockInstructions ends with a test of its number and a branch to the next pass.
// - The end of a pass stands right in front of the stretch, where the next pass begins, so a pass runs one piece of
//   code (but see compute capability 8 in code_kernel()).
// - The lead stands between them in a kernel of its own. A pass can begin at so many places there that the compiler
//   makes every few instructions wait for the previous ones.
// - Unless a step asks for constants, the stretch loads none, and the code around it only the table of entries.
#pragma once

#include <cstdint>
#include <string>

#include "device/cuda/ptx_target.h"

namespace gputopo::cuda {

// The module with "constant_bank" and the kernels "code" (the stretch of kMaxCodeInstructions; CodeParameters) and
// "lead_code" (the lead and the first kMaxCodeBehindLead instructions of the stretch). Their sizes differ by blocks
// almost alone. The code behind the blocks, and what is prefetched beyond it, must not lie in the sets of the first
// blocks. So both kernels are 6 KiB shorter than a small multiple of a power of two.
[[nodiscard]] std::string generate_code_ptx(const PtxTarget& target);

// The module with the kernels "near_jumps", "far_jumps", "aligned_jumps" and "few_near_jumps" (the first kFewNearJumps
// blocks of the near ones). The sizes of the two near kernels differ by blocks almost alone.
inline constexpr std::uint32_t kFewNearJumps = 64;
[[nodiscard]] std::string generate_jump_ptx(const PtxTarget& target);
// The module with the kernels "apart_operands", "near_operands" and "close_operands", and "constant_bank".
[[nodiscard]] std::string generate_operand_ptx(const PtxTarget& target);

}  // namespace gputopo::cuda
