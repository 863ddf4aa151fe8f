// Physical sharing: whether loads through one space evict what another space has cached. What fools it: an evictor
// that is limited to less than the victim's cache holds, as constants are.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// Whether loads through `evictor` evict what `victim` holds, as a second array in the victim's own space does.
[[nodiscard]] bool shares_cache(ProbeRunner& runner, const Cache& victim, const Cache& evictor);

}  // namespace gputopo::probe
