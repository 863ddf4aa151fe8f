// Reads a large footprint backwards for its resident part (a view of the size: views_decision.h).
#pragma once

#include <cstdint>

#include "probe/capacity/size_view.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Passes over several times `guess_bytes`, up to `most_guesses` times as much, and reads backwards what they leave.
[[nodiscard]] SizeView view_resident(Lab& lab, const Cache& cache, double guess_bytes, double most_guesses,
                                     std::uint64_t stride_bytes);

}  // namespace gputopo::probe
