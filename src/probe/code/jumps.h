// Jumps of one warp over growing numbers of blocks of code, close together and far apart.
#pragma once

#include <cstddef>
#include <vector>

#include "probe/bench/probe_runner.h"
#include "probe/code/jumps_decision.h"

namespace gputopo::probe {

// One sweep over the number of blocks.
struct CodeJumps {
  JumpCurve near;
  JumpCurve far;
  Conditions conditions;
};
// Throws NotSupportedError if the device runs no jumps.
[[nodiscard]] CodeJumps survey_jumps(ProbeRunner& runner);
// The level of the far-jump curve that caches[cache] serves; `caches` begins with the nearest. Throws Inconclusive.
[[nodiscard]] std::size_t level_of_cache(const ProbeRunner& runner, const CodeJumps& jumps,
                                         const std::vector<KnownCodeCache>& caches, std::size_t cache);
// Cycles of a jump to code that the level serves.
[[nodiscard]] Attribute jump_latency(const CodeJumps& jumps, std::size_t level, bool keep_samples);

// How much the first level holds. `behind_bytes`: the least that the cache behind it holds. Throws Inconclusive.
[[nodiscard]] Attribute nearest_code_size(const ProbeRunner& runner, const CodeJumps& jumps, double behind_bytes,
                                          bool keep_samples);

}  // namespace gputopo::probe
