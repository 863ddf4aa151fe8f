// Whether one actor's loads evict another's, the basis of the amount and sharing probes (Groessler 2022, sections 4.5
// and 4.6; Vanecek et al. 2025, sections IV-F and IV-G). What fools it: arrays that miss some of a cache's sets, which
// is why an evictor walks several capacities.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "probe/survey/site.h"

namespace gputopo::probe {

struct EvictionParameters {
  // The victim holds what fits, divided by this. If the index is uneven, half of what fits is less than half of the
  // capacity, and all of it stays unless evicted. Larger values hold less, so that fewer loads tell.
  std::uint64_t victim_parts = 2;
  // Capacities that an evictor walks, so that hardly anything of the victim is left under any policy if the cache is
  // the same. Larger values are surer and take longer.
  double evictor_capacities = 4;
  // Lines that an evictor walks several times before it goes on. If more, they evict one another before they hit; if
  // fewer, programs have more steps.
  std::uint64_t lines_at_a_time = 32;
};
inline constexpr EvictionParameters kEviction;

// One question: does a pass over `evictor` by `evictor_warp` evict what warp 0 has loaded of `victim`?
struct EvictionTrial {
  ChaseArray victim;
  std::optional<ChaseArray> evictor;  // none: shows what survives without eviction
  std::uint32_t evictor_warp = 0;
  std::uint32_t evictor_passes = 1;  // over a few lines at a time, if their parts cannot be loaded separately
};

// Median hit fraction of the victim after each trial, over `copies`; in one launch if the site allows.
[[nodiscard]] std::vector<double> surviving_fractions(ProbeRunner& runner, const Cache& victim,
                                                      const std::vector<EvictionTrial>& trials, std::uint32_t copies);
// The same with the usual number of copies.
[[nodiscard]] std::vector<double> surviving_fractions(ProbeRunner& runner, const Cache& victim,
                                                      const std::vector<EvictionTrial>& trials);

// Loads of a line before the evictor goes on to the next: one, which evicts under most policies, then two. Where lines
// that hit are protected (segmented LRU), a line that is loaded once never replaces one.
inline constexpr std::array<std::uint32_t, 2> kEvictorTouches = {1, 2};

[[nodiscard]] ChaseArray victim_array(const Cache& cache);
// Passes over a few lines at a time: one if the array has several elements per line. Otherwise as many as the most
// persistent evictor of another space loads a line; else that one would seem to share a cache that this one does not.
[[nodiscard]] std::uint32_t evictor_passes(const Cache& cache);
// `beside_bytes`: part of the space's limit that other arrays take.
[[nodiscard]] ChaseArray evictor_array(const Cache& cache, std::uint32_t touches, std::uint64_t beside_bytes = 0);

}  // namespace gputopo::probe
