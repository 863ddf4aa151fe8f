// How much code an instruction cache holds, and how fast it supplies it.
#pragma once

#include <cstdint>

#include "probe/bench/probe_runner.h"
#include "probe/code/size_decision.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

struct CodeSize {
  double bytes = 0;
  stats::Interval interval;
  std::uint32_t fits_instructions = 0;
  bool in_turn = false;
  double first_miss_bytes = 0;
  double surely_bytes = 0;  // held under any replacement: at least the excess of longer code misses
  // `bytes` is the longest code that fits, which is the whole cache if all sets are alike. If some sets overflow
  // early, it holds up to `uneven_bytes`.
  bool sharp = false;
  double uneven_bytes = 0;
  Conditions conditions;
};
[[nodiscard]] CodeSize find_code_size(ProbeRunner& runner, const CodeCache& cache);
[[nodiscard]] Attribute to_attribute(const CodeSize& size, const CodeCache& cache, bool keep_samples);

// Rate of straight-line code from this cache. `size` and `nearer`: the size of this cache and of the one before, if
// known; `lines`: lines of the second cache before this one that a line of `nearer` holds.
[[nodiscard]] Attribute code_rate(const CodeCache& cache, const CodeSize* size, const CodeSize* nearer,
                                  const LinesAtOnce& lines);

}  // namespace gputopo::probe
