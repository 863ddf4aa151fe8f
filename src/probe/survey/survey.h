// The survey of a space: tiny array, cold passes, then a sweep over footprints whose single loads are clustered into
// levels (stats/levels.h). What fools it: levels whose latencies overlap, slices far apart that look like levels; what
// the sweep tells of one cache is decided in sweep_decision.h.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// What a tiny array alone tells of a space: the latency of the nearest level and what timing costs.
[[nodiscard]] Survey begin_survey(Lab& lab, const Site& site);
// The rest of it: all levels. `translation_of`: of a space whose loads are translated behind an SM.
[[nodiscard]] Survey complete_survey(Lab& lab, Survey survey, const TranslationOf& translation_of = {});
// Of memory: first touches, one load a line, and passes over arrays of their own at the smallest stride.
struct ColdLoads {
  stats::Histogram first_touches;
  std::vector<std::vector<std::uint32_t>> passes;  // raw latencies of each
};
// None is in a cache: arrays of a new program are in no cache of an SM, and what the SMs share is evicted first.
// `l2_fetch_bytes` as ChaseProgram's; throws NotSupportedError where there is no such limit.
[[nodiscard]] ColdLoads run_cold_loads(Lab& lab, const Site& site, std::uint32_t l2_fetch_bytes = 0);

// Sweeps the footprints of a survey whose fetch granularity and levels are known (again, under another carve-out).
// `enough_bytes`: a footprint that is expected to exceed the nearest cache; the sweep goes on beyond it where it does
// not. 0: none is known.
void sweep_footprints(Lab& lab, Survey& survey, std::uint64_t enough_bytes = 0);

}  // namespace gputopo::probe
