// The kernels that run chase programs. A test checks in the machine code, where it can, what the timing depends on:
// - A load is predicated on the clock value read before it, so it cannot move above that reading. The second reading
//   stands behind a branch on the loaded value, so it cannot move above the arrival of the data. Without the branch
//   ptxas moves it, because dependences that ptxas can fold away do not hold it. Both readings use all bits of
//   %clock64, because ptxas reads %clock in two ways of different cost.
// - The compiler does not unroll the loops. Each runs once with its loads off, which brings its code into the
//   instruction cache before the counted pass.
// - No address comes from constant memory within a step (no jump table, no parameter).
// - Descriptors are read with ld.global.cg and written with st.global.cg, which leave L1 unchanged.
#pragma once

#include <cstdint>
#include <string>

#include "device/cuda/ptx_target.h"

namespace gputopo::cuda {

// The module with the kernels "fill", "chase" and "spin" (parameters: kernel_layout.h) and the bank "constant_bank".
[[nodiscard]] std::string generate_chase_ptx(const PtxTarget& target);
// The module with a kernel "chase" whose programs may also have arrays in local memory, and "constant_bank". Drivers
// reserve that memory for every thread that the GPU can run at a time, so each size has a module of its own.
// `frame_bytes`: local memory of each thread.
[[nodiscard]] std::string generate_local_chase_ptx(const PtxTarget& target, std::uint64_t frame_bytes);
// The frame size of the smallest module that holds `local_bytes` of a warp.
[[nodiscard]] std::uint64_t local_frame_bytes(std::uint64_t local_bytes);

}  // namespace gputopo::cuda
