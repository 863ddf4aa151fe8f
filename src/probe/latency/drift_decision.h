// Whether the clocks, and latencies with them, moved while a discovery ran: from one load that was timed again and
// again. Pure functions; drift.cpp takes the samples.
//
// What fools it: a neighbour that lengthens many of these loads alike.
#pragma once

#include <optional>
#include <span>

#include "stats/descriptive.h"

namespace gputopo::probe {

struct DriftParameters {
  // What the times of one load differ by without drift, as part of them; the intervals of all timings allow for it.
  // More: drift goes unseen; less: noise widens intervals.
  double noise = 0.004;
  // Where a run's latencies differ by more, it says so.
  double remarkable = 0.05;
  // Looks that differ at random, by where their lines lie, differ in all by no more than so many times what one lies
  // off the line through its neighbours: five standard deviations. Noise of that kind hides drift, and the first look
  // is off by it as well: what hides is allowed for, and as much of a look's bend on either side. More: intervals allow
  // for drift that may not be; less: noise is drift.
  double bends_of_noise = 6;
  double hidden_bends = 1;
};

// How far latencies were from those of the first look, as part of them: least (0 or less) and most (0 or more); where
// noise hides it, how far they may have been. Nothing where the looks hardly differ, or where there were less than two.
[[nodiscard]] std::optional<stats::Interval> drift_of(std::span<const double> looks,
                                                      const DriftParameters& parameters = {});
[[nodiscard]] bool is_remarkable(const stats::Interval& drift, const DriftParameters& parameters = {});
// The interval of a value that was measured at some time of the run, as it would have been at the first look.
[[nodiscard]] stats::Interval with_drift(const stats::Interval& interval, const stats::Interval& drift);

}  // namespace gputopo::probe
