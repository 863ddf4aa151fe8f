// The cache that serves constants whose address stands in the instruction (immediate constants, operands of
// arithmetic). Fooled by whatever evicts between passes, as a neighbour on the GPU.
#pragma once

#include "probe/bench/lab.h"
#include "probe/code/operands_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

struct FoundOperandCache : OperandCache {
  OperandCurve curve;
  Conditions conditions;
};
// Throws NotSupportedError where the device cannot, Inconclusive where no step shows.
[[nodiscard]] FoundOperandCache find_operand_cache(Lab& lab);

// Bytes.
[[nodiscard]] Attribute operand_cache_size(const FoundOperandCache& cache, bool keep_samples);
// Cycles that an operation takes longer. Throws Inconclusive where the lines are not known.
[[nodiscard]] Attribute operand_miss_penalty(const FoundOperandCache& cache);
// The same.
[[nodiscard]] Attribute operand_ways(const FoundOperandCache& cache);
// `of_loads`: the cache that loads of constants pass whose size is its own, "" for none. Throws Inconclusive where
// loads evict operands and there is none.
[[nodiscard]] Attribute measure_operand_sharing(Lab& lab, const FoundOperandCache& cache, const std::string& of_loads);

}  // namespace gputopo::probe
