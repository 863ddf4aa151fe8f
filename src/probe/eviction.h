// Whether one actor's loads evict another's: what the amount and sharing probes rest on (Groessler 2022, sections 4.5
// and 4.6; Vanecek et al. 2025, sections IV-F and IV-G).
#pragma once

#include "probe/site.h"

namespace gputopo::probe {

// One question: does a pass over `evictor` by evictor_warp drive out what warp 0 has loaded through `victim`?
struct EvictionTrial {
  ChaseArray victim;
  std::optional<ChaseArray> evictor;  // none: what survives where nothing is evicted
  std::uint32_t evictor_warp = 0;
};

// Median over copies of the victim's hit fraction after each trial, in one launch where the site allows.
[[nodiscard]] std::vector<double> surviving_fractions(Lab& lab, const Cache& victim,
                                                      const std::vector<EvictionTrial>& trials);

// What the victim holds: half of what fits its cache. What an evictor walks: four times its cache, so that next to
// nothing of the victim is left under any replacement if the cache is the same.
[[nodiscard]] ChaseArray victim_array(const Cache& cache);
// `beside_bytes`: of the space's limit, taken by other arrays.
[[nodiscard]] ChaseArray evictor_array(const Cache& cache, std::uint64_t beside_bytes = 0);

// Throws Inconclusive unless what survives untouched and what survives an eviction can be told apart.
void require_contrast(const Lab& lab, double untouched, double evicted);

}  // namespace gputopo::probe
