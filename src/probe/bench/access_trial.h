// Copies of access programs, and what the probes read off them. What fools them: code of an access that a compiler left
// out, which impossibly short times show, and clocks that drift, which a median and a margin allow for.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/bench/intervals.h"
#include "probe/bench/lab.h"

namespace gputopo::probe {

struct AccessTrialParameters {
  // Accesses of each warp before the timed ones: the code is then in its cache, and so is a small working set.
  std::uint32_t warm_accesses = 64;
  // More: what the beginning and end of a chain cost weighs less, at some cycles each; fewer: shorter launches, and
  // less chance that one is disturbed, so that the median copy is not.
  std::uint32_t timed_accesses = 64;
  // Stores take little each, so that the load behind the last of them must weigh less.
  std::uint32_t timed_stores = 512;
  // Of each program. More: steadier medians, and as much more time; odd, so that a median is a sample.
  std::uint32_t copies = 9;
  // Copies of a warp alone whose interval is wider than this part of the value were disturbed, perhaps most of them: as
  // many again are run, so often, and the quickest may be the only one that was not. Larger: a chain that most copies
  // disturb is taken for what it costs; smaller: more copies of what only jitters.
  double disturbed_width = 0.03;
  std::uint32_t more_rounds = 3;
  // No load or atomic of any GPU comes back sooner: constants of GT200 take 8 cycles, an addition alone four. More
  // would call a fast GPU broken.
  double least_latency_cycles = 6;
  // No store is issued in less than half a cycle.
  double least_store_cycles = 0.5;
};
inline constexpr AccessTrialParameters kAccessTrial;

inline constexpr std::uint32_t kWordBytes = 4;

struct AccessTrial {
  AccessProgram program;
  std::vector<AccessResult> copies;

  // Of an access of a warp: the median copy's mean over warps, and an interval of it. A warp alone is disturbed in some
  // copies and not in others, and those speak (stats/outliers.h).
  [[nodiscard]] double cycles() const;
  [[nodiscard]] stats::Interval interval() const;
  // Whether the copies differ so much that most may be disturbed.
  [[nodiscard]] bool is_disturbed() const;
  // Accesses of warps per cycle of one SM; of each copy, and the median.
  [[nodiscard]] std::vector<double> rates() const;
  [[nodiscard]] double rate() const;
};

// All programs a few times over, in turn, so that a drift of the clocks does not look like a difference between them.
// Throws Inconclusive for an access that took impossibly little: code of it was then left out.
[[nodiscard]] std::vector<AccessTrial> run_trials(Lab& lab, const std::vector<AccessProgram>& programs);
// More copies while those of the first program are disturbed.
[[nodiscard]] std::vector<AccessTrial> run_steady_trials(Lab& lab, const std::vector<AccessProgram>& programs);

// Warps of a block that fills an SM: as many as a program may have, or a block holds.
[[nodiscard]] std::uint32_t most_warps(const Lab& lab);

}  // namespace gputopo::probe
