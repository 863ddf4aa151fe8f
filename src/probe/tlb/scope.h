// Which SMs share a TLB.
#pragma once

#include "probe/tlb/tlb.h"

namespace gputopo::probe {

[[nodiscard]] Attribute tlb_scope(ProbeRunner& runner, const Site& site, const TlbSurvey& survey, std::size_t depth);

}  // namespace gputopo::probe
