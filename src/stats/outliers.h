// Timings that are repeated, of which some were disturbed: a disturbance only ever makes them longer, and so moves a
// mean by what it costs times how often it comes. Pure functions that leave it out.
#pragma once

#include <span>

#include "stats/histogram.h"

namespace gputopo::stats {

struct OutlierParameters {
  // Where the search for undisturbed timings begins: the middle of these quantiles is taken for one deviation under
  // their mean. They are surely undisturbed.
  double low_quantile = 0.05;
  double middle_quantile = 0.3;
  // Part of the timings that is disturbed, and by how many cycles at least on average, to begin with.
  double first_part = 0.3;
  double least_delay_cycles = 20;
  // Timings are whole cycles: no spread is told that is less.
  double least_deviation_cycles = 0.5;
  // The search ends when the mean moves by less, or after so many rounds.
  double settled_cycles = 0.002;
  int rounds = 60;
  // The same for single loads, whose distribution is its cache's and not normal: beyond this quantile and half as far
  // again as it is from the middle. Disturbed loads are at most as many; of slow hits hardly any are cut off.
  double ordinary_quantile = 0.98;
  double beyond_ordinary = 0.5;
};

// The mean of the undisturbed ones of repeated timings of one thing: those are taken to be normal, and the others to
// come later by an exponential delay; the likeliest such mixture tells (Dempster, Laird and Rubin 1977). `values` not
// empty.
[[nodiscard]] double undisturbed_mean(std::span<const double> values, const OutlierParameters& parameters = {});

// Raw latencies of single loads from this on are those of disturbed ones.
[[nodiscard]] double disturbed_from(const Histogram& loads, const OutlierParameters& parameters = {});

}  // namespace gputopo::stats
