// The line of an instruction cache. Code that is a little more than the cache holds is begun earlier and earlier, in
// the lead: what a pass takes rises with each line that it needs more, by the misses of all lines of that line's set,
// and between two such stairs by what the instructions themselves take. How far the stairs are apart is the line.
#pragma once

#include "probe/bench/lab.h"
#include "probe/code/edge.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

// Throws Inconclusive if no stairs show.
[[nodiscard]] Attribute measure_code_line(Lab& lab, const CodeCache& cache, const CodeEdgeOf& edge_of);

}  // namespace gputopo::probe
