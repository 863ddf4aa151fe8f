// Searches for the largest footprint that fits (a view of the size: views_decision.h).
#pragma once

#include <cstdint>

#include "probe/capacity/size_view.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

[[nodiscard]] SizeView view_fits(ProbeRunner& runner, const Cache& cache, std::uint64_t stride_bytes);

}  // namespace gputopo::probe
