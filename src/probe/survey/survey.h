// The survey of a space: a tiny array, cold passes, then a sweep over footprints whose single loads are clustered into
// levels (stats/levels.h). What fools it: levels with overlapping latencies; distant slices that look like levels.
// sweep_decision.h decides what the sweep says about one cache.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// Runs the tiny array alone, which gives the latency of the nearest level and the timer cost.
[[nodiscard]] Survey begin_survey(ProbeRunner& runner, const Site& site);
// Finds all levels. `translation_of`: for a space whose loads are translated outside the SM.
[[nodiscard]] Survey complete_survey(ProbeRunner& runner, Survey survey,
                                     const TranslationCallback& translation_of = {});
// Loads from memory: first touches, one load per line, and passes over other arrays at the smallest stride.
struct ColdLoads {
  stats::Histogram first_touches;
  std::vector<std::vector<std::uint32_t>> passes;  // raw latencies of each pass
};
// No load hits a cache: no SM has the arrays of a new program in a cache, and the program first evicts what SMs share.
// `l2_fetch_bytes`: as in ChaseProgram; throws NotSupportedError if the device has no such limit.
[[nodiscard]] ColdLoads run_cold_loads(ProbeRunner& runner, const Site& site, std::uint32_t l2_fetch_bytes = 0);

// Sweeps the footprints of a survey with known fetch granularity and levels (again, for another carve-out).
// `enough_bytes`: a footprint that should exceed the nearest cache, or 0; the sweep goes on if it does not.
void sweep_footprints(ProbeRunner& runner, Survey& survey, std::uint64_t enough_bytes = 0);

}  // namespace gputopo::probe
