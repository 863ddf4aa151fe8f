// Whether neighboring lines share a set. Then a few of them evict each other while other sets are empty, and no
// footprint of neighboring lines shows the capacity: of 4.5 KiB in 18 sets that take 1 KiB each in turn, two lines
// stay. Lines at a larger stride reveal it: only then can more of them stay than footprints show to fit.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/survey/site.h"

namespace gputopo::probe {

struct NeighbourSetsParameters {
  // At most as many neighbors stay as a set has ways; no known set has more. Larger values try larger caches in vain.
  std::uint64_t most_ways = 24;
  // Lines to load, as a multiple of what footprints show to fit. Smaller values accept what footprints merely miss.
  double more = 2;
  // Fraction of the loads that must hit. Smaller values take noise for lines that stay.
  double stays = 0.9;
  std::uint64_t largest_stride_bytes = 16 << 10;
};

// Stride in bytes at which more lines stay than neighbors, in the nearest cache of a space. Nothing if there is none,
// or if so many neighbors fit that they are in several sets.
[[nodiscard]] std::optional<std::uint64_t> find_stride_that_stays(ProbeRunner& runner, const Cache& cache,
                                                                  const NeighbourSetsParameters& parameters = {});

}  // namespace gputopo::probe
