// The attributes of one TLB level, from a survey.
#pragma once

#include <cstddef>

#include "probe/tlb/tlb.h"

namespace gputopo::probe {

// The level at `depth` (0: nearest). Throws NotPresent if there is no such level; so does each of its attributes.
[[nodiscard]] const TlbLevel& tlb_level(const TlbSurvey& survey, std::size_t depth);
// Whether it is a window of page tables and no TLB.
[[nodiscard]] bool is_window(const TlbSurvey& survey, std::size_t depth);
[[nodiscard]] Attribute tlb_reach(const ProbeRunner& runner, const TlbSurvey& survey, std::size_t depth);
[[nodiscard]] Attribute tlb_entries(const TlbSurvey& survey, std::size_t depth);
[[nodiscard]] Attribute tlb_entry_bytes(const TlbSurvey& survey, std::size_t depth);
[[nodiscard]] Attribute tlb_ways(const TlbSurvey& survey, std::size_t depth);
[[nodiscard]] Attribute tlb_miss_penalty(const TlbSurvey& survey, std::size_t depth);

}  // namespace gputopo::probe
