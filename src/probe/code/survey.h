// The sweep: straight-line code of growing length, run again and again by one warp. While a cache holds it, an
// instruction takes what that cache needs to supply it; each level is a plateau.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/bench/lab.h"
#include "probe/code/size_decision.h"

namespace gputopo::probe {

// The result of one sweep over the length of the code.
struct CodeSurvey : CodeSweep {
  double block_bytes = 0;        // of kCodeBlockInstructions
  std::uint32_t loop_bytes = 0;  // of code that every pass runs besides, at most
  Conditions conditions;
};

[[nodiscard]] CodeSurvey survey_code(Lab& lab);

// An instruction cache: a level of the survey with another one behind it.
struct CodeCache {
  const CodeSurvey* survey = nullptr;
  std::size_t level = 0;
  std::uint32_t fits_instructions = 0;  // the longest code that it holds, once its size was found
  bool in_turn = false;                 // and a little more misses as it does where the oldest is replaced

  [[nodiscard]] const stats::Plateau& plateau() const { return survey->levels[level]; }
  [[nodiscard]] const stats::Plateau& next() const { return survey->levels[level + 1]; }
  [[nodiscard]] double bytes_per_instruction() const { return survey->block_bytes / kCodeBlockInstructions; }
};

// The cache at `level` (0: nearest). Throws NotPresent where the sweep shows fewer, NotSupportedError where all code
// fits.
[[nodiscard]] CodeCache find_code_cache(const CodeSurvey& survey, std::size_t level);

}  // namespace gputopo::probe
