// How many slices of L2 can be told apart, from what every SM's loads of the same lines take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct SlicesDecisionParameters {
  // Lines are of one slice within so many times the noise. Of all passes together there is half as much noise as of a
  // half, of which two lines of one slice have one each: 0.7 on average. More: near slices become one; less: a slice
  // falls apart. So several are tried.
  std::array<double, 5> noise_limits = {0.75, 0.82, 0.9, 0.97, 1.05};
  // Latencies are whole cycles: where nothing else varies, one that lies between two falls to either now and then, of
  // some lines and not of others. More: near slices become one.
  double least_noise_cycles = 0.25;
  // The counts of these limits may differ by this factor. More: less certain counts are given, with wider intervals.
  double agreement = 1.25;
  // Groups of fewer lines are noise. More: slices with few lines are lost.
  std::size_t least_lines = 3;
  // Lines fall evenly on slices, so the groups' sizes scatter as numbers of a Poisson distribution do: their variance
  // is their mean, give or take so many standard errors. More: groups that are several slices, or parts of them, are
  // given as slices. On an H200 it is eight times the mean (115 groups of 5 to 78 lines), and nobody knows what they
  // are.
  double scatter_errors = 5;
  // Of the passes, left out at either end: the mean of their middle half is finer than a median of whole cycles.
  double trimmed_part = 0.25;
  // The quantile of the groups' sizes that is taken for one slice. Lines are spread evenly over slices, so groups with
  // several times as many may be several slices that lie too near one another.
  double one_slice_quantile = 0.25;
};

// Raw cycles by SM, line and pass.
using CyclesOfPasses = std::vector<std::vector<std::vector<std::uint32_t>>>;

struct Slices {
  std::int64_t count = 0;
  stats::Interval interval;  // the fewest and most groups; the most are what large groups may be made of
  double noise_cycles = 0;   // between two halves of the passes
};

// Lines of one slice are at the same distance from every SM, so that all SMs reach them in the same time.
[[nodiscard]] Decision<Slices> decide_slices(const CyclesOfPasses& cycles,
                                             const SlicesDecisionParameters& parameters = {});

}  // namespace gputopo::probe
