// Copies of access programs, and what the probes read off them.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/lab.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

// Accesses of each warp before the timed ones: the code is then in its cache, and so is a small working set.
inline constexpr std::uint32_t kWarmAccesses = 64;
// More: what the beginning and end of a chain cost weighs less, at some cycles each; fewer: shorter launches, and less
// chance that one is disturbed, so that the median copy is not.
inline constexpr std::uint32_t kTimedAccesses = 64;
// Stores take little each, so that the load behind the last of them must weigh less.
inline constexpr std::uint32_t kTimedStores = 512;
// Of each program; odd, so that a median is a sample.
inline constexpr std::uint32_t kTrialCopies = 9;
// What the clocks may drift between two readings of the same.
inline constexpr double kClockDrift = 0.005;
inline constexpr std::uint32_t kWordBytes = 4;

struct AccessTrial {
  AccessProgram program;
  std::vector<AccessResult> copies;

  // Of an access of a warp: the median copy's mean over warps, and an interval of it.
  [[nodiscard]] double cycles() const;
  [[nodiscard]] stats::Interval interval() const;
  // Accesses of warps per cycle of one SM; of each copy, and the median.
  [[nodiscard]] std::vector<double> rates() const;
  [[nodiscard]] double rate() const;
};

// Student's interval of the mean of copies, and as much around `value` as their errors in common may be: the drift of
// the clocks, and no less than a margin.
[[nodiscard]] stats::Interval interval_around(const std::vector<double>& values, double value, double least_margin = 0);
// Of mean latencies.
[[nodiscard]] stats::Interval timing_interval(const std::vector<double>& cycles, double value);

// All programs a few times over, in turn, so that a drift of the clocks does not look like a difference between them.
// Throws Inconclusive for an access that took impossibly little: code of it was then left out.
[[nodiscard]] std::vector<AccessTrial> run_trials(Lab& lab, const std::vector<AccessProgram>& programs);

// Warps of a block that fills an SM: as many as a program may have, or a block holds.
[[nodiscard]] std::uint32_t most_warps(const Lab& lab);

// To a hundredth, as reports show it.
[[nodiscard]] double rounded(double value);

}  // namespace gputopo::probe
