// Which line of a set gives way to a new one. The lines of a conflict set are loaded in random sequences, and what hits
// is held against models of policies. Where none foretells it, each new line's victim is looked for: the lines are
// loaded in order, again and again, then the one that is too many, and the first that misses after it was the victim.
#pragma once

#include "probe/structure/structure.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// The details and samples have the share of each victim, by age.
[[nodiscard]] Attribute structure_replacement(Lab& lab, const Cache& cache, const Structure& structure);

}  // namespace gputopo::probe
