// Size of a cache whose far hits overlap in latency with loads from near memory, so that residency counts some memory
// loads as hits. Loads that clearly come from memory appear only beyond the capacity C, as a * (1 - C/F) of a
// footprint F. This is a line in 1/F; its two coefficients give C and `a`, the fraction of memory loads that can be
// told from hits. Pure functions; clear_memory_loads.cpp takes the samples.
//
// What fools it: sets that fill unevenly, which bend the line; explains_all() then refuses.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "probe/capacity/size_view.h"

namespace gputopo::probe {

struct ClearMemoryLoadsParameters {
  // Sampled footprints, relative to the largest without clear misses: from where memory loads appear to where nearly
  // all loads come from memory. More of them tell better whether one line explains all.
  std::array<double, 5> footprints = {1.7, 2.0, 2.5, 3.0, 4.0};
  // Loads per footprint, for a proportion to 1%. At most one in `elements_of_load` elements: each brings in a line.
  std::uint64_t max_loads = 8192;
  std::uint64_t elements_of_load = 32;
  // All cold loads come from memory. If less than this fraction can be told from hits, memory hides among the hits.
  // Larger values take this view more often.
  double nearly_all_told = 0.9;
  // A footprint seems to fit if at most this fraction of its loads clearly misses, beyond noise. Larger values begin
  // the line farther beyond the capacity.
  double hardly_any = 0.02;
  // Lines that the cache must have: a proportion to about 2% needs that many.
  double min_lines = 1 << 14;
  // Largest half width of the interval, relative to the capacity. Beyond it, no line explains all footprints.
  double max_relative_error = 0.12;
};

struct MemoryLoads {
  double distinguishable_part = 1;  // a
  SizeView capacity;                // C
};

// Largest survey footprint (ascending) up to which hardly any load clearly comes from memory; 0 without footprints.
[[nodiscard]] double largest_without_clear_misses(std::span<const FootprintHits> sweep, double noise,
                                                  const ClearMemoryLoadsParameters& parameters = {});

// From the fractions of clear memory loads in footprints beyond the capacity. No capacity if no such load can be told.
[[nodiscard]] MemoryLoads memory_loads_of(std::span<const FootprintHits> beyond, double noise);

// Whether memory hides among the hits of a cache of this many lines, and the line explains all footprints alike.
[[nodiscard]] bool explains_all(const MemoryLoads& memory, double lines,
                                const ClearMemoryLoadsParameters& parameters = {});

}  // namespace gputopo::probe
