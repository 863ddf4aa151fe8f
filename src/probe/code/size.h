// How much code an instruction cache holds, and how fast it supplies it.
#pragma once

#include <cstdint>

#include "probe/bench/lab.h"
#include "probe/code/size_decision.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

// How much code it holds.
struct CodeSize {
  double bytes = 0;
  stats::Interval interval;
  std::uint32_t fits_instructions = 0;
  bool in_turn = false;
  double first_miss_bytes = 0;
  double surely_bytes = 0;  // that it holds whatever it replaces: of longer code at least what is too much misses
  // It is the longest code that fits, which is all that it holds where all sets are alike. Where some overflow early it
  // holds up to `uneven_bytes`.
  bool sharp = false;
  double uneven_bytes = 0;
  Conditions conditions;
};
[[nodiscard]] CodeSize find_code_size(Lab& lab, const CodeCache& cache);
[[nodiscard]] Attribute to_attribute(const CodeSize& size, const CodeCache& cache, bool keep_samples);

// The rate of straight-line code that the cache serves. `size` and `nearer`: its size and that of the cache before it,
// if they are known; `lines`: of that cache, for each of the one before that.
[[nodiscard]] Attribute code_rate(const CodeCache& cache, const CodeSize* size, const CodeSize* nearer,
                                  const LinesAtOnce& lines);

}  // namespace gputopo::probe
