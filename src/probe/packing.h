// Packing: the largest set of places that a cache holds all at once, found by adding place after place and keeping
// those with which everything still hits. Whatever the index and the replacement, a set of lines can stay resident only
// if no set of the cache has more of them than it has ways, so what cannot be enlarged any more fills the cache
// exactly. It takes a test for each place that does not fit, so it is for caches of few lines.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/site.h"

namespace gputopo::probe {

// A place: elements of an array (each of the cache's nearest fetch) that are loaded or left out together.
using PackingPlace = std::vector<std::uint32_t>;

// The places, in their order of trial, that are resident together; `array` is what they are elements of.
// `first` of them, if that many fit, are taken without looking at each.
[[nodiscard]] std::vector<std::uint32_t> pack(Lab& lab, const Cache& cache, const ChaseArray& array,
                                              const std::vector<PackingPlace>& places, std::size_t first);

// Bytes that a cache holds, from places of one fetch each; 0 where it is too large for this.
[[nodiscard]] double packed_bytes(Lab& lab, const Cache& cache);

}  // namespace gputopo::probe
