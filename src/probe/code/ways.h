// Ways of an instruction cache: code of some lengths on the edge is timed, and how fast what misses grows says them.
#pragma once

#include "probe/bench/lab.h"
#include "probe/code/edge.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

// Throws Inconclusive if the edge is not that of a cache that replaces the oldest line, NotSupportedError if it is
// steep and the cache too large to see its stairs.
[[nodiscard]] Attribute measure_code_ways(Lab& lab, const CodeCache& cache, const CodeEdgeOf& edge_of);

}  // namespace gputopo::probe
