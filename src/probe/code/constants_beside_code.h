// A cache that constants share with instructions, beyond the 64 KiB that a program may have of constants: constants are
// walked, then code of growing length runs, and the constants are walked again. They take longer as soon as the two
// together no longer fit.
#pragma once

#include "probe/bench/lab.h"
#include "probe/code/survey.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// These measure the cache in which constants and code meet, if all the constants that a program may have fit. They
// throw NotSupportedError if code does not evict constants.
[[nodiscard]] Attribute measure_constant_size_beside_code(Lab& lab, const CodeSurvey& survey, const Cache& cache);
[[nodiscard]] Line find_constant_line_beside_code(Lab& lab, const CodeSurvey& survey, const Cache& cache);
[[nodiscard]] Attribute measure_constant_penalty_beside_code(Lab& lab, const Cache& cache);

}  // namespace gputopo::probe
