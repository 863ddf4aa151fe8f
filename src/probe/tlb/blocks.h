// Blocks of pages, touched at one random place each.
#pragma once

#include <cstddef>
#include <vector>

#include "probe/tlb/entry_decision.h"
#include "probe/tlb/miss_decision.h"
#include "probe/tlb/page_order.h"
#include "probe/tlb/walk.h"

namespace gputopo::probe {

struct TlbBlockParameters {
  // Blocks reach so many times as far as the level. More: nearly all blocks miss, whatever its sets; needs more memory.
  double beyond = 1.6;
  // Blocks must reach at least so many times as far, or nothing is told.
  double least_beyond = 1.2;
  // Beyond so many blocks, those of one walk speak for all.
  std::size_t many_blocks = 512;
};

// Blocks of a span, touched in order at one random place each (at random, or the sets of the level would be used
// unevenly), and the part of them that misses, for ascending sizes of blocks. `nearer`: the level before.
[[nodiscard]] std::vector<TouchedBlocks> touch_blocks(const PageWalker& walker, const MissSignature& signature,
                                                      const NearerTlb& nearer, double span_bytes,
                                                      const TlbBlockParameters& parameters = {});

}  // namespace gputopo::probe
