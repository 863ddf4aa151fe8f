// The parts of kernels that time a chain of accesses: all blocks start together, and two phases follow.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {

// A kernel that times chains of accesses: all blocks start together, an untimed phase of %rounds rounds, which brings
// the code into its cache, all blocks again, a timed phase of %timed_rounds. `round` writes the body of the loop,
// `wait` what leaves through LOST for a value that there is not, and so holds the second reading of the clock back
// until the value has come. The cost of the readings is taken before each phase, by the same instructions without the
// loop. Then comes chain_lost(), and write_warp_record() by the thread that the predicate `writer` names
// (%warp_records), and the kernel's own LEAVE. It sets %first_thread, %blocks, %rounds, %timed_rounds, %never,
// %longest, %records and %arrived.
void declare_phase_registers(PtxText& text);
// `leave`: the branch to LOST; "bra.uni" where all lanes of a warp hold the same values.
// `of_pass`: rounds that the code has in a row, with ways out between them, before it begins again.
void two_phases(PtxText& text, const std::function<void()>& round, const std::function<void()>& wait,
                std::string_view leave = "bra", std::uint32_t of_pass = 1);
void chain_lost(PtxText& text);
void write_warp_record(PtxText& text, std::string_view writer);

}  // namespace gputopo::cuda
