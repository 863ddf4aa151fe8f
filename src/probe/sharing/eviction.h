// Whether one actor's loads evict another's: what the amount and sharing probes rest on (Groessler 2022, sections 4.5
// and 4.6; Vanecek et al. 2025, sections IV-F and IV-G). What fools it: arrays that miss a cache's sets, which is why
// an evictor walks several times what the cache holds.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "probe/survey/site.h"

namespace gputopo::probe {

struct EvictionParameters {
  // Of what fits, in parts: what the victim holds. Where the index is uneven half of that is less than half of the
  // capacity, and all of it stays unless evicted. More: less is held, and fewer loads tell.
  std::uint64_t victim_parts = 2;
  // What an evictor walks, in capacities of its cache, so that next to nothing of the victim is left under any
  // replacement if the cache is the same. More: surer, and it takes longer.
  double evictor_capacities = 4;
  // Lines at a time that an evictor walks several times. More: they drive one another out before they are hit; fewer:
  // programs have more steps.
  std::uint64_t lines_at_a_time = 32;
};
inline constexpr EvictionParameters kEviction;

// One question: does a pass over `evictor` by evictor_warp drive out what warp 0 has loaded through `victim`?
struct EvictionTrial {
  ChaseArray victim;
  std::optional<ChaseArray> evictor;  // none: what survives where nothing is evicted
  std::uint32_t evictor_warp = 0;
  std::uint32_t evictor_passes = 1;  // over a few lines at a time, where their parts cannot be loaded one by one
};

// Median over so many copies of the victim's hit fraction after each trial, in one launch where the site allows.
[[nodiscard]] std::vector<double> surviving_fractions(Lab& lab, const Cache& victim,
                                                      const std::vector<EvictionTrial>& trials, std::uint32_t copies);
// Over as many as is usual.
[[nodiscard]] std::vector<double> surviving_fractions(Lab& lab, const Cache& victim,
                                                      const std::vector<EvictionTrial>& trials);

// How often an evictor loads a line before it goes on to the next: once, which evicts under most replacements, and
// twice where that is not enough. Where lines that were hit are protected (segmented LRU), a line that is loaded once
// never takes the place of one.
inline constexpr std::array<std::uint32_t, 2> kEvictorTouches = {1, 2};

[[nodiscard]] ChaseArray victim_array(const Cache& cache);
// How often it is to walk a few lines at a time: once where its array has several elements a line. Else as often as the
// most persistent evictor of another space loads a line, or that one would seem to share a cache that this one does
// not.
[[nodiscard]] std::uint32_t evictor_passes(const Cache& cache);
// `beside_bytes`: of the space's limit, taken by other arrays.
[[nodiscard]] ChaseArray evictor_array(const Cache& cache, std::uint32_t touches, std::uint64_t beside_bytes = 0);

}  // namespace gputopo::probe
