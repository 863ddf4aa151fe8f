// The size of a cache where its far hits and loads from near memory overlap in latency, so that residency counts some
// memory loads as hits. Loads that are clearly from memory appear only beyond the capacity C, as a * (1 - C/F) of a
// footprint F: a line in 1/F whose two coefficients give both the part `a` of memory loads that can be told, and C.
// Pure functions; clear_memory_loads.cpp takes the samples.
//
// What fools it: sets that fill unevenly, which bend the line; explains_all() then refuses.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "probe/capacity/size_view.h"

namespace gputopo::probe {

struct ClearMemoryLoadsParameters {
  // Footprints that are sampled, in the largest without clear misses: from where memory shows to where nearly all is
  // memory's. More of them tell better whether one line explains all.
  std::array<double, 5> footprints = {1.7, 2.0, 2.5, 3.0, 4.0};
  // Loads of each: a proportion to 1%; and no more than one of so many elements, for what loads bring in would count.
  std::uint64_t max_loads = 8192;
  std::uint64_t elements_of_load = 32;
  // Cold loads come from memory, all of them: where less than this part can be told from hits, memory hides among them.
  // Larger asks for this view more often.
  double nearly_all_told = 0.9;
  // Footprints with no more than this part of clear misses, noise apart, fit as far as can be seen. Larger begins the
  // line farther beyond the capacity.
  double hardly_any = 0.02;
  // Lines of the cache that it takes: a proportion of 2% or so needs that many.
  double min_lines = 1 << 14;
  // Half the interval over the capacity: where the footprints differ by more, no line explains them all.
  double max_relative_error = 0.12;
};

struct MemoryLoads {
  double told = 1;    // a
  SizeView capacity;  // C
};

// The largest footprint of the survey, ascending, up to which hardly a load is clearly from memory; 0 of none.
[[nodiscard]] double largest_without_clear_misses(std::span<const FootprintHits> sweep, double noise,
                                                  const ClearMemoryLoadsParameters& parameters = {});

// From the part of clear memory loads in footprints beyond the capacity. Where none is told, there is no capacity.
[[nodiscard]] MemoryLoads memory_loads_of(std::span<const FootprintHits> beyond, double noise);

// Whether far hits exist for near memory to hide among, in a cache of so many lines, and the line explains all
// footprints alike.
[[nodiscard]] bool explains_all(const MemoryLoads& memory, double lines,
                                const ClearMemoryLoadsParameters& parameters = {});

}  // namespace gputopo::probe
