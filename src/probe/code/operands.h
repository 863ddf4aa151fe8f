// The cache of constants whose address stands in the instruction (immediate constants, operands of arithmetic).
// Evictions between passes, as by a neighbor on the GPU, fool the method.
#pragma once

#include "probe/bench/probe_runner.h"
#include "probe/code/operands_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

struct FoundOperandCache : OperandCache {
  OperandCurve curve;
  Conditions conditions;
};
// Throws NotSupportedError if the device cannot run such code, Inconclusive if no step shows.
[[nodiscard]] FoundOperandCache find_operand_cache(ProbeRunner& runner);

// Bytes.
[[nodiscard]] Attribute operand_cache_size(const FoundOperandCache& cache, bool keep_samples);
// Extra cycles of an operation. Throws Inconclusive if the lines are not known.
[[nodiscard]] Attribute operand_miss_penalty(const FoundOperandCache& cache);
// Throws Inconclusive if the lines are not known.
[[nodiscard]] Attribute operand_ways(const FoundOperandCache& cache);
// `of_loads`: the cache of constant loads with the same size, or "". Throws Inconclusive if loads evict but it is "".
[[nodiscard]] Attribute measure_operand_sharing(ProbeRunner& runner, const FoundOperandCache& cache,
                                                const std::string& of_loads);

}  // namespace gputopo::probe
