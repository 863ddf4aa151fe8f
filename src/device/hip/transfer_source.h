// The kernels of transfers. Every address is one that this GPU reaches: of its own memory, of another GPU's, of the
// host's.
#pragma once

#include <cstdint>
#include <string>

#include "device/hip/gfx_target.h"

namespace gputopo::hip {

// The shape in which the kernels of transfers are launched.
struct TransferShape {
  std::uint32_t threads = 512;  // of a block
  std::uint32_t blocks = 1;
};

// Kernels "read" and "write" (memory, bytes, passes, word, sink), which all blocks of a launch share; "load", "atomic"
// and "atomic_of_gpu" (memory, span, warm, count, records) and "store" (memory, lines, count, records), a thread a
// block, whose records are ticks of the wall clock (u64 a block).
[[nodiscard]] std::string generate_transfer_source(const GfxTarget& target, const TransferShape& shape);

}  // namespace gputopo::hip
