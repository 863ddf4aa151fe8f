// The code around operations with accumulators in tensor memory (tcgen05; PTX ISA, "Tensor memory").
#pragma once

#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {

// Makes tensor memory for each four warps of a block, with a first product, and the mbarrier at which their rounds end.
// Declares %issuer, true in the first thread of four warps, and the address %accumulators. Needs the factors'
// descriptors.
void begin_tensor_memory(PtxText& text);
// Waits for the operations of a round, which are asynchronous.
void end_tensor_round(PtxText& text);
// Reads one accumulator of each thread into %value.
void read_accumulators(PtxText& text);
// All warps of the block run this at the end, to free the memory.
[[nodiscard]] std::string end_with_tensor_memory();

}  // namespace gputopo::cuda
