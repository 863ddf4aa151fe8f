// The kernels that run chase programs. What the timing depends on, and a test checks in the machine code where it can:
// - A load is predicated on the clock value read before it, so it cannot move above that reading, and the second
//   reading stands behind a branch on the loaded value, so it cannot move above the arrival of the data. Without the
//   branch ptxas moves it: dependences that it can fold away do not hold it. Both readings are of %clock64 and all its
//   bits are used, because ptxas reads %clock in two ways of different cost.
// - The loops are not unrolled by the compiler, and each is passed through once with its loads off, so that the pass
//   that counts finds its code in the instruction cache.
// - No address comes from constant memory within a step (no jump table, no parameter).
// - Descriptors are read with ld.global.cg and written with st.global.cg, which leave L1 alone.
#pragma once

#include <cstdint>
#include <string>

#include "device/cuda/ptx_target.h"

namespace gputopo::cuda {

// The module with the kernels "fill", "chase" and "spin" (parameters: see kernel_layout.h) and the constant bank
// "constant_bank".
[[nodiscard]] std::string generate_chase_ptx(const PtxTarget& target);
// The module with a kernel "chase" whose programs have arrays in local memory, too, and "constant_bank". Drivers keep
// that memory for every thread that the GPU can run at a time, so that there is a module for each size of it.
// `frame_bytes`: of a thread.
[[nodiscard]] std::string generate_local_chase_ptx(const PtxTarget& target, std::uint64_t frame_bytes);
// The frame of the smallest module that holds so many bytes of a warp.
[[nodiscard]] std::uint64_t local_frame_bytes(std::uint64_t local_bytes);

}  // namespace gputopo::cuda
