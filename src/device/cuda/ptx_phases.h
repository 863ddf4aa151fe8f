// The parts that kernels share which time a chain of accesses: blocks start together, then two phases follow.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {

// A kernel that times chains of accesses: all blocks start together, an untimed phase of %rounds rounds, which brings
// the code into its cache, all blocks again, a timed phase of %timed_rounds.
struct PhaseKernel {
  std::string name;
  std::string_view parameters;  // the struct that they are
  std::string directives;
  std::string_view registers;  // declarations of the kernel's own
  std::string_view fields;     // parameters of the kernel's own, as load_fields() takes them
};
// Begins the kernel and sets %thread_id, %threads, %block, %blocks, %sm, %rounds, %timed_rounds, %never and %longest.
void begin_phase_kernel(PtxText& text, const PhaseKernel& kernel);
// Moves %records to the record of this block, and writes where and when it began.
void begin_block_record(PtxText& text);
// `round` writes the body of the loop, `wait` what leaves through LOST for a value that there is not, and so holds the
// second reading of the clock back until the value has come. The cost of the readings is taken before each phase, by
// the same instructions without the loop.
// `leave`: the branch to LOST; "bra.uni" where all lanes of a warp hold the same values.
// `of_pass`: rounds that the code has in a row, with ways out between them, before it begins again.
void two_phases(PtxText& text, const std::function<void()>& round, const std::function<void()>& wait,
                std::string_view leave = "bra", std::uint32_t of_pass = 1);
// Writes the record of each warp, by its %first_lane, and of the block. `before_end`: lines that all threads run.
void end_phase_kernel(PtxText& text, std::string_view before_end = "bar.sync 0;");

}  // namespace gputopo::cuda
