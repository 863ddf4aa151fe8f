// The nearest instruction cache, from the step in passes over straight-line code.
#pragma once

#include <cstdint>

#include "probe/bench/probe_runner.h"
#include "probe/code/jumps.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

// The size of the nearest cache, from a step of these passes that is as large as the step between the first two levels
// of jumps. `next_fits`: instructions that the cache behind it holds. Throws Inconclusive.
[[nodiscard]] Attribute hidden_code_size(ProbeRunner& runner, const CodeSurvey& survey, std::uint32_t next_fits,
                                         const CodeJumps& jumps, bool keep_samples);

}  // namespace gputopo::probe
