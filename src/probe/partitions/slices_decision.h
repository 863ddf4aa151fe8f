// Number of L2 slices that can be told apart, from the latencies of every SM's accesses to the same lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct SlicesDecisionParameters {
  // Distance of lines of one slice, in units of the noise. All passes together have half as much noise as a half, and
  // two lines of one slice have it once each: 0.7 on average. Larger values merge near slices; smaller values split
  // slices. So several are tried.
  std::array<double, 5> noise_limits = {0.75, 0.82, 0.9, 0.97, 1.05};
  // Least noise. Latencies are whole cycles: if nothing else varies, one that lies between two falls to either at
  // times, for some lines and not for others. Larger values merge near slices.
  double least_noise_cycles = 0.25;
  // Largest factor between the counts of these limits. Larger values give less certain counts, with wider intervals.
  double agreement = 1.25;
  // Groups of fewer lines are noise. Larger values lose slices with few lines.
  std::size_t least_lines = 3;
  // Lines fall evenly on slices, so the groups' sizes scatter like a Poisson distribution: the variance is the mean,
  // within this many standard errors. Larger values report groups that are several slices, or parts of them, as
  // slices. On an H200 the variance is eight times the mean (115 groups of 5 to 78 lines), for an unknown reason.
  double scatter_errors = 5;
  // Fraction of the passes left out at either end: the mean of the middle half is finer than a median of cycles.
  double trimmed_part = 0.25;
  // Quantile of the groups' sizes that is taken for one slice. Lines spread evenly over slices, so groups with several
  // times as many may be several slices that are too close.
  double one_slice_quantile = 0.25;
};

// Raw cycles, by SM, line and pass.
using CyclesOfPasses = std::vector<std::vector<std::vector<std::uint32_t>>>;

struct Slices {
  std::int64_t count = 0;
  stats::Interval interval;  // fewest and most groups, the most with large groups taken for several slices
  double noise_cycles = 0;   // between two halves of the passes
};

[[nodiscard]] Decision<Slices> decide_slices(const CyclesOfPasses& cycles,
                                             const SlicesDecisionParameters& parameters = {});

}  // namespace gputopo::probe
