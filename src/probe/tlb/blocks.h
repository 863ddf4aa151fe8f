// Blocks of pages that are touched at one random place each.
#pragma once

#include <cstddef>
#include <vector>

#include "probe/tlb/entry_decision.h"
#include "probe/tlb/miss_decision.h"
#include "probe/tlb/page_order.h"
#include "probe/tlb/walk.h"

namespace gputopo::probe {

struct TlbBlockParameters {
  // Span of the blocks in reaches of the level. Larger values make most miss whatever the sets, but need more memory.
  double beyond = 1.6;
  // Smallest such span; if memory allows less, nothing is reported.
  double least_beyond = 1.2;
  // With more blocks than this, the places of one walk represent all walks.
  std::size_t many_blocks = 512;
};

// The part of the blocks that misses, for ascending block sizes. Blocks of the span are touched in order, at one
// random place each, because regular places would use the sets of the level unevenly. `nearer`: the level before.
[[nodiscard]] std::vector<TouchedBlocks> touch_blocks(const PageChaser& page_chaser, const MissSignature& signature,
                                                      const NearerTlb& nearer, double span_bytes,
                                                      const TlbBlockParameters& parameters = {});

}  // namespace gputopo::probe
