// The cost of a TLB miss, by several SMs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probe/tlb/miss_decision.h"
#include "probe/tlb/page_order.h"
#include "probe/tlb/penalty_decision.h"
#include "probe/tlb/tlb.h"
#include "probe/tlb/walk.h"

namespace gputopo::probe {

// What a miss of the level costs, by SMs. Nothing where pages that all miss are more than there is room for, or reach
// beyond `most_bytes`, where the next level begins to miss. `before`: of the levels before it.
[[nodiscard]] std::optional<TlbPenalty> penalty_by_orders(const PageWalker& walker, const TlbLevel& level,
                                                          const MissSignature& signature, const NearerTlb& nearer,
                                                          const std::vector<TlbPenalty>& before,
                                                          std::uint64_t most_bytes);

}  // namespace gputopo::probe
