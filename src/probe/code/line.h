// The line of an instruction cache. Code slightly longer than the cache begins earlier and earlier, in the lead. With
// each further line, a pass takes longer by the misses of all lines in its set; between such stairs, only by the
// instructions themselves. The distance of the stairs is the line.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/code/edge.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

// Throws Inconclusive if no stairs show.
[[nodiscard]] Attribute measure_code_line(ProbeRunner& runner, const CodeCache& cache, const CodeEdgeCallback& edge_of);

}  // namespace gputopo::probe
