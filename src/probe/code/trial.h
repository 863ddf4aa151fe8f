// Programs that the probes of instruction caches share.
#pragma once

#include <optional>
#include <vector>

#include "probe/code/sharing_decision.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

// Of a program; odd, so that a median is a sample.
inline constexpr std::uint32_t kCodeCopies = 3;

// Runs the first `count` instructions, begun by so many of the lead, once and then a few times, for steady_cycles().
[[nodiscard]] InstructionProgram repeated_run(std::uint32_t count, std::uint32_t lead = 0);
// The same of so many jumps or operands.
[[nodiscard]] InstructionProgram repeated(CodeStepKind kind, std::uint32_t count);
// Cycles of a pass once the caches hold what they can: the median of the passes after the first.
[[nodiscard]] double steady_cycles(const InstructionResult& result);

// Ascending counts, so many to the octave, from the first to the last of them.
[[nodiscard]] std::vector<std::uint32_t> counts_by_octave(std::uint32_t first, std::uint32_t last, double per_octave);

// Their medians over programs of which each stands there kCodeCopies times in a row.
[[nodiscard]] std::vector<double> steady_medians(const std::vector<InstructionResult>& results);
// Part of the code of each of these lengths that misses in the cache.
[[nodiscard]] std::vector<double> missed_parts(Lab& lab, const CodeCache& cache,
                                               const std::vector<std::uint32_t>& instructions);

// Who evicts between two passes over code that a cache holds.
struct CodeEvictor {
  enum class Kind { kNobody, kCode, kConstants } kind = Kind::kNobody;
  std::uint32_t warp = 0;
  std::optional<std::uint32_t> sm;  // set: warp 0 of victim_sm runs what is evicted; else both are on one SM
  std::uint32_t victim_sm = 0;
};

// How much of a cache's code others evict, between what happens when nobody does (0) and when the warp itself runs as
// much other code as there is (1).
class CodeEviction {
 public:
  // Throws NotSupportedError where there is not enough other code to fill the cache, Inconclusive where eviction hardly
  // shows.
  CodeEviction(Lab& lab, const CodeCache& cache);

  // Of so many programs each the median.
  [[nodiscard]] std::vector<double> evicted_parts(const std::vector<CodeEvictor>& evictors,
                                                  std::size_t copies = kCodeCopies);

 private:
  [[nodiscard]] InstructionProgram program_of(const CodeEvictor& evictor) const;
  [[nodiscard]] double cycles_after(const CodeEvictor& evictor, std::size_t copies = kCodeCopies);

  Lab& lab_;
  std::uint32_t victim_ = 0;         // instructions that it holds
  std::uint32_t evictor_first_ = 0;  // where the other code begins
  std::uint32_t evictor_count_ = 0;
  EvictionScale scale_;
};

}  // namespace gputopo::probe
