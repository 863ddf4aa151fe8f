// The kernels besides the chase: one prepares its arrays, the other wakes the GPU.
#pragma once

#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {

// Kernel "fill" writes the links of arrays. Kernel "spin" keeps every SM busy and records the first block's clocks.
void fill_kernel(PtxText& text);
void spin_kernel(PtxText& text);

}  // namespace gputopo::cuda
