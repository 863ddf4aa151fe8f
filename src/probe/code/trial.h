// Programs that the probes of instruction caches share.
#pragma once

#include <optional>
#include <vector>

#include "probe/code/sharing_decision.h"
#include "probe/code/survey.h"

namespace gputopo::probe {

// Copies of a program; odd, so that a median is a sample.
inline constexpr std::uint32_t kCodeCopies = 3;

// Runs `count` instructions, preceded by `lead` of the lead, once and then a few times, for steady_cycles().
[[nodiscard]] InstructionProgram repeated_run(std::uint32_t count, std::uint32_t lead = 0);
// The same for jumps or operands.
[[nodiscard]] InstructionProgram repeated(CodeStepKind kind, std::uint32_t count);
// Cycles of a pass in steady state: the median of the passes after the first.
[[nodiscard]] double steady_cycles(const InstructionResult& result);

// Ascending counts from first to last, per_octave to the octave.
[[nodiscard]] std::vector<std::uint32_t> counts_by_octave(std::uint32_t first, std::uint32_t last, double per_octave);

// The median of each program, whose kCodeCopies copies are consecutive.
[[nodiscard]] std::vector<double> steady_medians(const std::vector<InstructionResult>& results);
// Missed part of code of each of these lengths.
[[nodiscard]] std::vector<double> missed_parts(ProbeRunner& runner, const CodeCache& cache,
                                               const std::vector<std::uint32_t>& instructions);

// Evicts between two passes over code that a cache holds.
struct CodeEvictor {
  enum class Kind { kNobody, kCode, kConstants } kind = Kind::kNobody;
  std::uint32_t warp = 0;
  std::optional<std::uint32_t> sm;  // set: the victim is warp 0 of victim_sm; else both are on one SM
  std::uint32_t victim_sm = 0;
};

// The part of a cache's code that others evict: 0 if nobody runs, 1 if the warp itself runs all other code it can.
class CodeEviction {
 public:
  // Throws NotSupportedError if too little other code exists to fill the cache, Inconclusive if eviction hardly shows.
  CodeEviction(ProbeRunner& runner, const CodeCache& cache);

  // The median of `copies` programs for each evictor.
  [[nodiscard]] std::vector<double> evicted_parts(const std::vector<CodeEvictor>& evictors,
                                                  std::size_t copies = kCodeCopies);

 private:
  [[nodiscard]] InstructionProgram program_of(const CodeEvictor& evictor) const;
  [[nodiscard]] double cycles_after(const CodeEvictor& evictor, std::size_t copies = kCodeCopies);

  ProbeRunner& runner_;
  std::uint32_t victim_ = 0;         // instructions whose eviction is measured
  std::uint32_t evictor_first_ = 0;  // where the other code begins
  std::uint32_t evictor_count_ = 0;
  EvictionScale scale_;
};

}  // namespace gputopo::probe
