// Repeated timings, some of them disturbed. A disturbance only makes a timing longer, so it shifts the mean by its
// cost times its frequency. These pure functions remove that shift.
#pragma once

#include <span>

#include "stats/histogram.h"

namespace gputopo::stats {

struct OutlierParameters {
  // The start of the search: the middle quantile is the first mean, and its distance from the low quantile the first
  // standard deviation. Timings in this range are surely undisturbed.
  double low_quantile = 0.05;
  double middle_quantile = 0.3;
  // The initial part of disturbed timings, and the least mean delay of a disturbance in cycles.
  double first_part = 0.3;
  double least_delay_cycles = 20;
  // The least standard deviation in cycles. Timings are whole cycles, so a smaller spread does not show.
  double least_deviation_cycles = 0.5;
  // The search ends when the mean moves by less, or after this many rounds.
  double settled_cycles = 0.002;
  int rounds = 60;
  // For single loads, whose distribution is that of the cache and not normal: loads count as disturbed beyond this
  // quantile plus half its distance from the median. It hardly cuts off slow hits; at most 2% may be disturbed.
  double ordinary_quantile = 0.98;
  double beyond_ordinary = 0.5;
};

// The mean of the undisturbed timings of one thing. Undisturbed timings are modeled as normal, the others as delayed
// by an exponential time; the most likely mixture decides (Dempster, Laird and Rubin 1977). Requires values.
[[nodiscard]] double undisturbed_mean(std::span<const double> values, const OutlierParameters& parameters = {});

// Raw latencies of single loads from this value on count as disturbed.
[[nodiscard]] double disturbed_from(const Histogram& loads, const OutlierParameters& parameters = {});

}  // namespace gputopo::stats
