// The measurements from which the views of a cache's size are made (views_decision.h).
#pragma once

#include "stats/descriptive.h"

namespace gputopo::probe {

// What one view found.
struct SizeView {
  double bytes = 0;
  stats::Interval interval;
  bool settled = true;     // it no longer grew with the footprint
  bool by_chance = false;  // copies of one program found other lines resident
};

// A footprint of the survey, walked in order.
struct FootprintHits {
  double bytes = 0;
  double hits = 0;  // part of its loads that hit in the cache or nearer
};

}  // namespace gputopo::probe
