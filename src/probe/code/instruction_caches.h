// Instruction caches: found by how long straight-line code takes to run again, by how much of it there is. Fooled by
// whatever else makes longer code slower, and by replacement that does not take the oldest, which blurs every edge.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "probe/bench/lab.h"
#include "probe/code/jumps_decision.h"
#include "probe/code/size_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// What one sweep over the length of the code tells.
struct CodeSurvey : CodeSweep {
  double block_bytes = 0;        // of kCodeBlockInstructions
  std::uint32_t loop_bytes = 0;  // of code that every pass runs besides, at most
  Conditions conditions;
};

[[nodiscard]] CodeSurvey survey_code(Lab& lab);

// What the stairs of a steep edge tell of a cache.
struct CodeEdge {
  std::uint32_t line_bytes = 0;
  std::uint32_t ways = 0;
  Conditions conditions;
};
// Asks for it; it is read once, for all that follow from it. Throws what steep_edge() throws.
using CodeEdgeOf = std::function<CodeEdge()>;

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

// Jumps over ever more blocks of code. Throws NotSupportedError where the device cannot.
struct CodeJumps {
  JumpCurve near;
  JumpCurve far;
  Conditions conditions;
};
[[nodiscard]] CodeJumps survey_jumps(Lab& lab);
// Of the curve of far jumps: the level that one of these caches, nearest first, serves. Throws Inconclusive.
[[nodiscard]] std::size_t level_of_cache(const Lab& lab, const CodeJumps& jumps,
                                         const std::vector<KnownCodeCache>& caches, std::size_t cache);
// What a jump takes to code that the level serves, in cycles.
[[nodiscard]] Attribute jump_latency(const CodeJumps& jumps, std::size_t level, bool keep_samples);
// The same from the step that passes over straight-line code have, which is as large as that between the first two
// levels of jumps. `next_fits`: instructions that the cache behind it holds. Throws Inconclusive.
[[nodiscard]] Attribute hidden_code_size(Lab& lab, const CodeSurvey& survey, std::uint32_t next_fits,
                                         const CodeJumps& jumps, bool keep_samples);
// What is fetched at once of the nearest cache, which must hold all blocks. Throws Inconclusive, NotSupportedError
// where the device cannot.
[[nodiscard]] Attribute measure_fetch_size(Lab& lab, const CodeJumps& jumps, bool keep_samples);
// How much the first level holds. `behind_bytes`: what the cache behind it holds at least. Throws Inconclusive.
[[nodiscard]] Attribute nearest_code_size(const Lab& lab, const CodeJumps& jumps, double behind_bytes,
                                          bool keep_samples);

// Of straight-line code that the cache serves. `size` and `nearer`: its size and that of the cache before it, where
// they are known; `lines`: of that cache, for each of the one before that.
[[nodiscard]] Attribute code_rate(const CodeCache& cache, const CodeSize* size, const CodeSize* nearer,
                                  const LinesAtOnce& lines);
// Of a cache that replaces the oldest line of a set: where a few blocks of code lie between none and all of it missing.
// Throws Inconclusive where the edge does not look like that, NotSupportedError where the cache is too large.
[[nodiscard]] CodeEdge steep_edge(Lab& lab, const CodeCache& cache);
// From where the time of code that just does not fit falls as it begins later. Throws Inconclusive where no stairs
// show.
[[nodiscard]] Attribute measure_code_line(Lab& lab, const CodeCache& cache, const CodeEdgeOf& edge_of);
// From how steep the edge is. Throws Inconclusive where it is not that of a cache that replaces the oldest,
// NotSupportedError where it is steep and the cache too large to see its stairs.
[[nodiscard]] Attribute measure_code_ways(Lab& lab, const CodeCache& cache, const CodeEdgeOf& edge_of);
// Which SMs evict each other's code: "SM", "GPU", or how many SMs share it ("2 SMs"); "CU" where the vendor calls it
// so.
[[nodiscard]] Attribute measure_code_scope(Lab& lab, const CodeCache& cache);
// The SMs that share each instance: groups of them.
[[nodiscard]] Attribute measure_code_shared_between(Lab& lab, const CodeCache& cache);
// Instances per SM, from which warps evict each other's code.
[[nodiscard]] Attribute measure_code_amount(Lab& lab, const CodeCache& cache);
// Of the cache behind which constants and code meet, where all the constants that there may be fit. They throw
// NotSupportedError where code does not evict constants.
[[nodiscard]] Attribute measure_constant_size_beside_code(Lab& lab, const CodeSurvey& survey, const Cache& cache);
[[nodiscard]] Line find_constant_line_beside_code(Lab& lab, const CodeSurvey& survey, const Cache& cache);
[[nodiscard]] Attribute measure_constant_penalty_beside_code(Lab& lab, const Cache& cache);
// "constants" if loads of constants evict code.
[[nodiscard]] Attribute measure_code_sharing(Lab& lab, const CodeCache& cache);

}  // namespace gputopo::probe
