// Which SMs share one cache: from an SM each, two actors take turns, and where the second evicts what the first has
// loaded they share. Every pair is tried by itself and kept by itself, so that two pairs are never taken for one
// another; groups are what pairs connect, and a group in which a pair does not share is flagged. What fools it: numbers
// of SMs that are not where the program says, and another process's loads between two turns.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// Which SMs use one and the same instance of the cache: a group for each instance.
[[nodiscard]] Attribute measure_shared_between(Lab& lab, const Cache& cache);

}  // namespace gputopo::probe
