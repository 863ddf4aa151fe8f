// A cache that constants share with instructions, larger than the 64 KiB of constants that a program may have:
// constants are walked, code of growing length runs, and the constants are walked again. The second walk takes longer
// as soon as both together no longer fit.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/code/survey.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Measure the cache that constants share with code if all constants that a program may have fit. Throw
// NotSupportedError if code does not evict constants.
[[nodiscard]] Attribute measure_constant_size_beside_code(ProbeRunner& runner, const CodeSurvey& survey,
                                                          const Cache& cache);
[[nodiscard]] Line find_constant_line_beside_code(ProbeRunner& runner, const CodeSurvey& survey, const Cache& cache);
[[nodiscard]] Attribute measure_constant_penalty_beside_code(ProbeRunner& runner, const Cache& cache);

}  // namespace gputopo::probe
