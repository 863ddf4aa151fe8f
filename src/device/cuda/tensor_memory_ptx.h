// What kernels of operations with accumulators in tensor memory have around them (tcgen05; PTX ISA, "Tensor memory").
#pragma once

#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {

// Tensor memory for each four warps of a block, with a first product, and the mbarrier at which a round of theirs ends.
// Declares %issuer, true in the first thread of four warps, and %accumulators, the address of what they add to. Needs
// the descriptors of the factors.
void begin_tensor_memory(PtxText& text);
// Waits until the operations of a round are done, which are asynchronous.
void end_tensor_round(PtxText& text);
// One accumulator of each thread, into %value.
void read_accumulators(PtxText& text);
// All warps of the block run this at the end, to give the memory back.
[[nodiscard]] std::string end_with_tensor_memory();

}  // namespace gputopo::cuda
