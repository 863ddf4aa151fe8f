// Runs access programs in several copies and reads off latencies and rates. What fools it: a compiler that removes
// accesses, which impossibly short times reveal; clock drift, for which a median and a margin allow.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/bench/intervals.h"
#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

struct AccessTrialParameters {
  // Untimed accesses of each warp before the timed ones. They load the code and a small working set into the caches.
  std::uint32_t warm_accesses = 64;
  // Timed accesses of each warp. Larger values reduce the weight of the chain ends, which cost a few cycles each;
  // smaller values shorten launches, so that fewer copies, and not the median one, are disturbed.
  std::uint32_t timed_accesses = 64;
  // Timed stores of each warp. A store takes little time, so many are needed to outweigh the load behind the last one.
  std::uint32_t timed_stores = 512;
  // Copies of each program. Larger values steady the medians but take more time. Odd, so that the median is a sample.
  std::uint32_t copies = 9;
  // A single warp's copies count as disturbed if their interval is wider than this part of the value. Then
  // run_steady_trials() runs as many copies again, up to `more_rounds` times, because the fastest may be the only
  // clean one. Larger values accept a chain that most copies disturb; smaller values repeat chains that only jitter.
  double disturbed_width = 0.03;
  std::uint32_t more_rounds = 3;
  // No load or atomic of any GPU is faster: constant loads of GT200 take 8 cycles, a single addition takes 4. Larger
  // values would call a fast GPU broken.
  double least_latency_cycles = 6;
  // No GPU issues a store in less than half a cycle.
  double least_store_cycles = 0.5;
};
inline constexpr AccessTrialParameters kAccessTrial;

inline constexpr std::uint32_t kWordBytes = 4;

struct AccessTrial {
  AccessProgram program;
  std::vector<AccessResult> copies;

  // Cycles of one access of a warp: the median over the copies, each a mean over its warps. Disturbances hit some
  // copies of a single warp and spare others, so its value is the mean of the undisturbed copies (stats/outliers.h).
  [[nodiscard]] double cycles() const;
  [[nodiscard]] stats::Interval interval() const;
  // Whether the copies differ so much that most of them may be disturbed.
  [[nodiscard]] bool is_disturbed() const;
  // Warp accesses per cycle of one SM: of each copy, and their median.
  [[nodiscard]] std::vector<double> rates() const;
  [[nodiscard]] double rate() const;
};

// Runs all programs in turn, several times over, so that clock drift does not look like a difference between them.
// Throws Inconclusive if an access takes impossibly little time, because part of its code is then missing.
[[nodiscard]] std::vector<AccessTrial> run_trials(ProbeRunner& runner, const std::vector<AccessProgram>& programs);
// Runs more copies of all programs while those of the first program are disturbed.
[[nodiscard]] std::vector<AccessTrial> run_steady_trials(ProbeRunner& runner,
                                                         const std::vector<AccessProgram>& programs);

// Warps of a block that fills an SM, limited by what a program and a block can have.
[[nodiscard]] std::uint32_t max_warps(const ProbeRunner& runner);

}  // namespace gputopo::probe
