// Sharing of an instruction cache with other SMs, other warps of the SM, and constants.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

// Which SMs evict each other's code: "SM", "GPU", or how many SMs share it ("2 SMs"); "CU" if the vendor says so.
[[nodiscard]] Attribute measure_code_scope(ProbeRunner& runner, const CodeCache& cache);
// Groups of SMs that share an instance.
[[nodiscard]] Attribute measure_code_shared_between(ProbeRunner& runner, const CodeCache& cache);
// Instances per SM, from which warps evict each other's code.
[[nodiscard]] Attribute measure_code_amount(ProbeRunner& runner, const CodeCache& cache);

// "constants" if loads of constants evict code.
[[nodiscard]] Attribute measure_code_sharing(ProbeRunner& runner, const CodeCache& cache);

}  // namespace gputopo::probe
