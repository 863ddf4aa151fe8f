// The steep edge of an instruction cache of few sets. Too few blocks of code lie between none and all of it missing,
// but the lead makes code longer by less than a line.
#pragma once

#include <cstdint>
#include <functional>

#include "probe/bench/lab.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

// The stairs of a steep edge tell the line and the ways of a cache.
struct CodeEdge {
  std::uint32_t line_bytes = 0;
  std::uint32_t ways = 0;
  Conditions conditions;
};
// Asks for it; it is read once, for all that follow from it. Throws what steep_edge() throws.
using CodeEdgeOf = std::function<CodeEdge()>;

// Reads the edge of a cache that replaces the oldest line of a set: a few blocks of code lie between none and all of it
// missing. Throws Inconclusive if the edge does not look like that, NotSupportedError if the cache is too large.
[[nodiscard]] CodeEdge steep_edge(Lab& lab, const CodeCache& cache);

}  // namespace gputopo::probe
