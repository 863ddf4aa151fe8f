// The kernels beside the chase: one prepares its arrays, the other wakes the GPU.
#pragma once

#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {

// Kernel "fill" writes the links of arrays. Kernel "spin" keeps every SM busy and records the clocks of the first
// block.
void fill_kernel(PtxText& text);
void spin_kernel(PtxText& text);

}  // namespace gputopo::cuda
