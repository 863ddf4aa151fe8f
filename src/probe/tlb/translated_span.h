// How much memory loads can span without waiting for translations; latencies of loads alone use lines within it.
#pragma once

#include <cstdint>

#include "probe/survey/site.h"

namespace gputopo::probe {

// `site`: a space that misses L1 on every load, so that all are translated. 0: even a few pages are too many. Tries no
// more than a latency needs.
[[nodiscard]] std::uint64_t find_translated_span(ProbeRunner& runner, const Site& site);

// Whether loads over this many bytes, and over slightly more, do not wait. False if there is no memory to test it.
[[nodiscard]] bool is_translated(ProbeRunner& runner, const Site& site, std::uint64_t bytes);

}  // namespace gputopo::probe
