// The views of a cache's size that walk arrays: each takes its samples here and decides on them elsewhere
// (NAME_decision.h). views_decision.h says what each is and what fools it.
#pragma once

#include "probe/capacity/clear_memory_loads_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// The part of the loads of each footprint of the survey that hit in the cache or nearer.
[[nodiscard]] std::vector<FootprintHits> sweep_of(const Cache& cache);

// What a pass over several times `guess_bytes` leaves, read backwards (resident_backwards.cpp).
// Of footprints of so many guesses at most.
[[nodiscard]] SizeView view_resident(Lab& lab, const Cache& cache, double guess_bytes, double most_guesses,
                                     std::uint64_t stride_bytes);
// The largest footprint that fits (fitting_footprint.cpp).
[[nodiscard]] SizeView view_fits(Lab& lab, const Cache& cache, std::uint64_t stride_bytes);
// Footprints beyond the capacity by how many of their loads are clearly from memory (clear_memory_loads.cpp).
[[nodiscard]] MemoryLoads view_memory_loads(Lab& lab, const Cache& cache, std::uint64_t stride_bytes);

}  // namespace gputopo::probe
