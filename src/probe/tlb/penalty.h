// The cost of a TLB miss on several SMs.
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

// The cost of a miss of the level, for each SM. Nothing if pages that all miss exceed the memory, or exceed
// `most_bytes`, where the next level begins to miss. `before`: the penalties of the levels before.
[[nodiscard]] std::optional<TlbPenalty> penalty_by_orders(const PageChaser& page_chaser, const TlbLevel& level,
                                                          const MissSignature& signature, const NearerTlb& nearer,
                                                          const std::vector<TlbPenalty>& before,
                                                          std::uint64_t most_bytes);

}  // namespace gputopo::probe
