// How much memory loads can be spread over without waiting for translations: where a latency is of the load alone, its
// lines lie that near.
#pragma once

#include <cstdint>

#include "probe/survey/site.h"

namespace gputopo::probe {

// `site`: a space that misses L1 on every load, so that all are translated. 0: even a few pages are too many. No more
// than a latency needs is tried.
[[nodiscard]] std::uint64_t find_translated_span(Lab& lab, const Site& site);

// Whether loads over so many bytes do not wait, nor over a little more. False where there is no memory to see it.
[[nodiscard]] bool is_translated(Lab& lab, const Site& site, std::uint64_t bytes);

}  // namespace gputopo::probe
