// The parts that kernels share if they time chains of accesses: a common start of all blocks, then two phases.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {

// A kernel that times chains of accesses. All blocks start together and run %rounds untimed rounds, which load the code
// into its cache. All blocks then start together again and run %timed_rounds timed rounds.
struct PhaseKernel {
  std::string name;
  std::string_view parameters;  // name of their struct
  std::string directives;
  std::string_view registers;  // declarations of this kernel
  std::string_view fields;     // parameters of this kernel, in the form that load_fields() takes
};
// Begins the kernel and sets %thread_id, %threads, %block, %blocks, %sm, %rounds, %timed_rounds, %never and %longest.
void begin_phase_kernel(PtxText& text, const PhaseKernel& kernel);
// Moves %records to this block's record, and writes where and when the block began.
void begin_block_record(PtxText& text);
// `round` writes the body of the loop. `wait` writes the exit through LOST for an invalid value, which holds back the
// second clock reading until the value has arrived. The cost of the readings is measured before each phase, by the same
// instructions without the loop.
// `leave`: the branch to LOST; "bra.uni" if all lanes of a warp hold the same values.
// `of_pass`: consecutive rounds in the code of the loop, with exits between them.
void two_phases(PtxText& text, const std::function<void()>& round, const std::function<void()>& wait,
                std::string_view leave = "bra", std::uint32_t of_pass = 1);
// Writes the record of each warp, by its %first_lane, and that of the block. `before_end`: lines that all threads run.
void end_phase_kernel(PtxText& text, std::string_view before_end = "bar.sync 0;");

}  // namespace gputopo::cuda
