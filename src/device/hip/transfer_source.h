// The kernels of transfers. They take any address that this GPU reaches: its own, another GPU's or the host's.
#pragma once

#include <cstdint>
#include <string>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

struct TransferShape {
  std::uint32_t threads = 512;  // of a block
  std::uint32_t blocks = 1;
};

// Kernels "read" and "write" (memory, bytes, passes, word, sink), which all blocks of a launch share; "load", "atomic"
// and "atomic_of_gpu" (memory, span, warm, count, records) and "store" (memory, lines, count, records), with one thread
// in each block, whose records are ticks of the wall clock (u64 for each block).
[[nodiscard]] std::string generate_transfer_source(const GfxTarget& target, const TransferShape& shape);

}  // namespace gputopo::hip
