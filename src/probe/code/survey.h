// The sweep: one warp repeatedly runs straight-line code of growing length. While a cache holds the code, an
// instruction takes as long as that cache needs to supply it; each level is a plateau.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/bench/probe_runner.h"
#include "probe/code/size_decision.h"

namespace gputopo::probe {

// The result of one sweep over the length of the code.
struct CodeSurvey : CodeSweep {
  double block_bytes = 0;        // of kCodeBlockInstructions instructions
  std::uint32_t loop_bytes = 0;  // upper limit of other code in every pass
  Conditions conditions;
};

[[nodiscard]] CodeSurvey survey_code(ProbeRunner& runner);

// An instruction cache: a level of the survey with another one behind it.
struct CodeCache {
  const CodeSurvey* survey = nullptr;
  std::size_t level = 0;
  std::uint32_t fits_instructions = 0;  // longest code that it holds, once its size is known
  bool in_turn = false;                 // slightly longer code misses as under LRU

  [[nodiscard]] const stats::Plateau& plateau() const { return survey->levels[level]; }
  [[nodiscard]] const stats::Plateau& next() const { return survey->levels[level + 1]; }
  [[nodiscard]] double bytes_per_instruction() const { return survey->block_bytes / kCodeBlockInstructions; }
};

// The cache at `level` (0: nearest). Throws Inconclusive if the levels are unclear, NotSupportedError if the sweep
// shows fewer or all code fits.
[[nodiscard]] CodeCache find_code_cache(const CodeSurvey& survey, std::size_t level);

}  // namespace gputopo::probe
