// Reads a large footprint backwards to find its resident part (a view of the size: views_decision.h).
#pragma once

#include <cstdint>

#include "probe/capacity/size_view.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Walks several times `guess_bytes`, up to `most_guesses` times, and reads backwards what the walk leaves.
[[nodiscard]] SizeView view_resident(ProbeRunner& runner, const Cache& cache, double guess_bytes, double most_guesses,
                                     std::uint64_t stride_bytes);

}  // namespace gputopo::probe
