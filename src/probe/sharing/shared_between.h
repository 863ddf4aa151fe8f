// Which SMs share a cache: actors on two SMs take turns, and they share it if the second evicts what the first loaded.
// Every pair is tried and kept separately, so that pairs are never confused. Groups are what pairs connect; a group
// with a pair that does not share is flagged. What fools it: SM numbers that are not where the program says; another
// process's loads between two turns.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// One group of SMs for each instance of the cache.
[[nodiscard]] Attribute measure_shared_between(ProbeRunner& runner, const Cache& cache);

}  // namespace gputopo::probe
