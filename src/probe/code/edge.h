// The steep edge of an instruction cache with few sets. Too few blocks lie between no misses and all misses, so the
// lead lengthens the code by less than a line.
#pragma once

#include <cstdint>
#include <functional>

#include "probe/bench/probe_runner.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

// The line and the ways of a cache, from the stairs of its steep edge.
struct CodeEdge {
  std::uint32_t line_bytes = 0;
  std::uint32_t ways = 0;
  Conditions conditions;
};
// Reads the edge once for all callers. Throws what steep_edge() throws.
using CodeEdgeCallback = std::function<CodeEdge()>;

// Reads the edge of a cache that replaces the oldest line of a set, with few blocks between no misses and all misses.
// Throws Inconclusive if the edge looks different, NotSupportedError if the cache is too large.
[[nodiscard]] CodeEdge steep_edge(ProbeRunner& runner, const CodeCache& cache);

}  // namespace gputopo::probe
