// Replacement policy. Loads the lines of a conflict set in random sequences, and compares the hits with models of
// policies. If no model predicts them, looks for victims: loads the lines in order repeatedly, then the line that is
// too many; the first line that then misses was the victim.
#pragma once

#include "probe/structure/structure.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

[[nodiscard]] Attribute structure_replacement(ProbeRunner& runner, const Cache& cache, const Structure& structure);

}  // namespace gputopo::probe
