// Whether the clocks, and with them the latencies, drifted during a discovery, from repeated timings of one load. Pure
// functions; drift.cpp takes the samples.
//
// What fools it: a neighbor that lengthens many of these loads equally.
#pragma once

#include <optional>
#include <span>

#include "stats/descriptive.h"

namespace gputopo::probe {

struct DriftParameters {
  // Variation of the load's latency without drift, as part of it; all timing intervals allow for it. Larger values
  // overlook drift; with smaller values noise widens intervals.
  double noise = 0.004;
  // A run with more drift than this reports it.
  double remarkable = 0.05;
  // Looks whose latencies vary at random, because their lines lie elsewhere, span at most this many times the typical
  // distance of a look from the line through its neighbors: five standard deviations. Such noise hides drift and
  // affects the first look, too. The interval then has the whole span and `hidden_bends` distances on either side.
  // Larger values allow for drift that may not exist; smaller values take noise for drift.
  double bends_of_noise = 6;
  double hidden_bends = 1;
};

// How far latencies drifted from the first look, as part of it: minimum (0 or less) and maximum (0 or more); if noise
// hides it, how far they may have drifted. Empty if the looks hardly differ, or if there are fewer than two.
[[nodiscard]] std::optional<stats::Interval> drift_of(std::span<const double> looks,
                                                      const DriftParameters& parameters = {});
[[nodiscard]] bool is_remarkable(const stats::Interval& drift, const DriftParameters& parameters = {});
// Widens the interval of a value from any time of the run, so that it holds for the time of the first look.
[[nodiscard]] stats::Interval with_drift(const stats::Interval& interval, const stats::Interval& drift);

}  // namespace gputopo::probe
