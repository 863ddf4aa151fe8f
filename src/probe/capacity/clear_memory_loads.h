// Counts the loads of large footprints that clearly come from memory (a view of the size: views_decision.h).
#pragma once

#include <cstdint>

#include "probe/capacity/clear_memory_loads_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

[[nodiscard]] MemoryLoads view_memory_loads(ProbeRunner& runner, const Cache& cache, std::uint64_t stride_bytes);

}  // namespace gputopo::probe
