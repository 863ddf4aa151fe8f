// Ways of an instruction cache, from how fast misses grow with the length of code on the edge.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/code/edge.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

// Throws Inconclusive if the edge is not of a cache that replaces the oldest line, NotSupportedError if it is steep
// and the cache too large for its stairs to show.
[[nodiscard]] Attribute measure_code_ways(ProbeRunner& runner, const CodeCache& cache, const CodeEdgeCallback& edge_of);

}  // namespace gputopo::probe
